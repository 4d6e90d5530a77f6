package io.snapline.error

/** Passwords in URIs, as in `ftp://user:password@host/folder`. Nobody who reads an error, a log, the UI or the event
  * log is to see one.
  */
private[snapline] object UriPassword {
  private val Password = """(//[^/\s:@]*):[^/\s@]*@""".r

  /** The text without them. What stands before `@` without a colon is no secret: `abfss://container@account`. */
  def hide(text: String): String =
    if (text == null || text.indexOf('@') < 0) text else Password.replaceAllIn(text, "$1:***@")
}
