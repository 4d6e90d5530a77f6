package io.snapline.spark.ui.page

import java.net.URLEncoder
import java.nio.charset.StandardCharsets.UTF_8

/** The request of a page.
  *
  * @param tab
  *   path of the tab's pages, without a slash at the end
  * @param rest
  *   path of the tab's part of the REST interface
  */
final case class Request(tab: String, rest: String, parameters: Map[String, String]) {
  def text(name: String): Option[String] = parameters.get(name)

  /** A number that is none is as good as none: links are followed by people. */
  def number(name: String): Option[Long] = parameters.get(name).flatMap(_.toLongOption)

  def link(page: String, parameters: (String, Any)*): String =
    s"$tab/$page/?" + parameters.map { case (name, value) => s"$name=${Request.encoded(value)}" }.mkString("&")
}

object Request {
  def encoded(value: Any): String = URLEncoder.encode(value.toString, UTF_8)
}
