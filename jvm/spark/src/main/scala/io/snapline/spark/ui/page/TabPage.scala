package io.snapline.spark.ui.page

import scala.xml.NodeSeq

/** A page below its title. */
final case class Content(title: String, body: NodeSeq)

/** One page of the tab.
  *
  * @param name
  *   its place below the tab's own
  */
trait TabPage {
  def name: String
  def render(request: Request): Content
}
