package org.apache.spark.ui
package snapline

import scala.jdk.CollectionConverters._
import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest

import io.snapline.spark.ui.page.{TabPage, Request}

/** Our pages in the frame of Spark's. */
private[spark] final class CheckpointsTab(ui: SparkUI, pages: Seq[TabPage]) extends SparkUITab(ui, "checkpoints") {
  override val name: String = "Checkpoints"

  /** Behind Structured Streaming. */
  override def displayOrder: Int = 3

  pages.foreach(page => attachPage(new FramedPage(page)))
  ui.attachTab(this)

  /** In the history server the application is named by where its pages lie. */
  private def application: String = if (basePath.isEmpty) ui.appId else basePath.stripPrefix("/history/")

  private final class FramedPage(page: TabPage) extends WebUIPage(page.name) {
    override def render(request: HttpServletRequest): Seq[Node] = {
      val root = UIUtils.prependBaseUri(request)
      val parameters =
        request.getParameterMap.asScala.collect { case (key, values) if values.nonEmpty => key -> values(0) }
      val rest = s"$root/api/v1/applications/$application/checkpoints"
      val content = page.render(Request(s"$root$basePath/${CheckpointsTab.this.prefix}", rest, parameters.toMap))
      UIUtils.headerSparkPage(request, content.title, content.body, CheckpointsTab.this)
    }
  }

}
