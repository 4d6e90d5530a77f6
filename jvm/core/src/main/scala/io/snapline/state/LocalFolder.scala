package io.snapline.state

import java.io.File

private[snapline] object LocalFolder {

  /** The folder and all that is in it, as far as the disk lets it go. */
  def delete(folder: File): Unit = {
    val inside = folder.listFiles()
    if (inside != null) inside.foreach(delete)
    folder.delete(): Unit
  }
}
