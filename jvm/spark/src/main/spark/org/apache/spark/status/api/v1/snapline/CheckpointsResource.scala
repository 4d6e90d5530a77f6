package org.apache.spark.status.api.v1
package snapline

import com.fasterxml.jackson.databind.JsonNode
import jakarta.ws.rs.{DefaultValue, GET, Path, PathParam, Produces, QueryParam}
import jakarta.ws.rs.core.MediaType

import io.snapline.spark.ui.{CheckpointsRest, CheckpointsStore}

/** Beside Spark's own parts of the REST interface: below an application, and below an attempt of one in the history
  * server.
  */
@Path("/v1")
private[v1] class CheckpointsRootResource extends ApiRequestContext {
  @Path("applications/{appId}/checkpoints")
  def ofApplication(@PathParam("appId") appId: String): Class[CheckpointsResource] = classOf[CheckpointsResource]

  @Path("applications/{appId}/{attemptId}/checkpoints")
  def ofAttempt(
      @PathParam("appId") appId: String,
      @PathParam("attemptId") attemptId: String
  ): Class[CheckpointsResource] = classOf[CheckpointsResource]
}

@Produces(Array(MediaType.APPLICATION_JSON))
private[v1] class CheckpointsResource extends BaseAppResource {

  @GET
  def queries(): JsonNode = withStore(rest => Some(rest.queries))

  @GET
  @Path("{query}")
  def statistics(
      @PathParam("query") query: String,
      @DefaultValue("0") @QueryParam("offset") offset: Int,
      @DefaultValue("100") @QueryParam("length") length: Int
  ): JsonNode = {
    if (offset < 0) throw new BadParameterException("offset", "number from 0", offset.toString)
    if (length < 0) throw new BadParameterException("length", "number from 0", length.toString)
    withStore(_.statistics(query, offset, length))
  }

  @GET
  @Path("{query}/config")
  def config(@PathParam("query") query: String): JsonNode = withStore(_.config(query))

  @GET
  @Path("{query}/details/{checkpoint: \\d{1,18}}")
  def details(@PathParam("query") query: String, @PathParam("checkpoint") checkpoint: Long): JsonNode =
    withStore(_.details(query, checkpoint))

  @GET
  @Path("{query}/details/{checkpoint: \\d{1,18}}/subtasks/{operator: \\d{1,18}}")
  def subtasks(
      @PathParam("query") query: String,
      @PathParam("checkpoint") checkpoint: Long,
      @PathParam("operator") operator: Long
  ): JsonNode = withStore(_.subtasks(query, checkpoint, operator))

  private def withStore(answer: CheckpointsRest => Option[JsonNode]): JsonNode = withUI { ui =>
    answer(new CheckpointsRest(new CheckpointsStore(ui.store.store)))
      .getOrElse(throw new NotFoundException("no such query, checkpoint or operator, or its figures are kept no more"))
  }
}
