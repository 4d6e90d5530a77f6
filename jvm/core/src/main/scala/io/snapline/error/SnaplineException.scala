package io.snapline.error

/** The root of every error Snapline raises itself.
  *
  * The kinds are coarse: one for each thing the reader has to do. Code and kind are API; the text is not. The Python
  * package has the same names (`snapline.errors`).
  *
  * @param code
  *   stable, searchable: `SNAPLINE-DAMAGED`
  * @param told
  *   what was found, with names and numbers; a password in a URI is left out
  * @param toDo
  *   what to do about it; likewise
  */
sealed abstract class SnaplineException(val code: String, told: String, toDo: String, cause: Throwable)
    extends RuntimeException(UriPassword.hide(s"[$code] $told Do: $toDo"), cause) {
  val found: String = UriPassword.hide(told)
  val action: String = UriPassword.hide(toDo)
}

/** A file fails its checks and nothing sound stands in for it. */
final class CheckpointDamaged(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-DAMAGED", found, action, cause)

/** The version asked for is not there. */
final class StateNotFound(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-NOT-FOUND", found, action, cause)

/** The folder holds something else: another provider's files, or none of a checkpoint's. */
final class NotACheckpoint(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-NOT-A-CHECKPOINT", found, action, cause)

/** The state was written under settings or schemas that do not fit the ones in force. */
final class IncompatibleState(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-INCOMPATIBLE", found, action, cause)

/** The file's format is newer than this version of Snapline. */
final class UnsupportedVersion(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-VERSION", found, action, cause)

/** This jar serves another release line of Spark. */
final class WrongSparkVersion(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-SPARK", found, action, cause)

/** A setting is unknown, out of its range, or contradicts another. */
final class InvalidConfiguration(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-CONFIG", found, action, cause)

/** The file system of the checkpoint, or the local disk, refused or failed. */
final class StorageFailure(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-STORAGE", found, action, cause)

/** Another driver has begun a query on the same checkpoint folder. */
final class QueryTakenOver(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-TAKEN-OVER", found, action, cause)

/** State has passed a limit that was set for it, or a row or value is larger than what can travel. */
final class StateTooLarge(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-TOO-LARGE", found, action, cause)

/** The store is used after it was closed, committed or aborted. */
final class StoreClosed(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-CLOSED", found, action, cause)

/** A function made of the same rows not the same everywhere. */
final class FunctionNotDeterministic(found: String, action: String, cause: Throwable = null)
    extends SnaplineException("SNAPLINE-NOT-DETERMINISTIC", found, action, cause)

/** A promise of the code to itself is broken: a bug. */
final class InternalError(found: String, cause: Throwable = null)
    extends SnaplineException(
      "SNAPLINE-INTERNAL",
      found,
      "report it with the log of the executor; the checkpoint in storage is untouched.",
      cause
    )

/** Passwords in URIs, as in `ftp://user:password@host/folder`. Nobody who reads an error, a log, the UI or the event
  * log is to see one.
  */
private[snapline] object UriPassword {
  private val Password = """(//[^/\s:@]*):[^/\s@]*@""".r

  /** The text without them. A name before `@` without a colon is no secret: `abfss://container@account`. */
  def hide(text: String): String =
    if (text == null || text.indexOf('@') < 0) text else Password.replaceAllIn(text, "$1:***@")
}
