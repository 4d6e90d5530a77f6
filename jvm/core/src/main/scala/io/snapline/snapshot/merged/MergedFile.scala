package io.snapline.snapshot.merged

import com.fasterxml.jackson.databind.ObjectMapper

import io.snapline.snapshot.format.{Frame, HandleMeta, VersionRef}
import io.snapline.snapshot.format.JsonMembers._

/** Where a handle is that lies in a merged file: the file has the handle's version and this uid, and the handle's bytes
  * begin at the offset.
  */
final case class MergedPlace(uid: String, offset: Long) {
  def fileOf(handle: VersionRef): VersionRef = VersionRef(handle.version, uid)
}

/** A handle in storage.
  *
  * @param bytes
  *   its length
  * @param merged
  *   None: it is a file of its own, in its store's folder
  */
final case class StoredHandle(meta: HandleMeta, bytes: Long, merged: Option[MergedPlace] = None)

/** A handle in a merged file.
  *
  * @param store
  *   its store's folder, relative to the checkpoint
  */
final case class MergedMember(store: String, ref: VersionRef, offset: Long, length: Int)

/** Meta of a merged file (docs/FORMAT.md section 10): handles of one version, of any stores of a query. */
final case class MergedFile(ref: VersionRef, members: Seq[MergedMember], created: Long, writer: String) {

  def bytes: Array[Byte] = {
    val json = MergedFile.mapper.createObjectNode()
    json.put("kind", MergedFile.Kind).put("version", ref.version).put("uid", ref.uid)
    json.put("writer", writer).put("created", created)
    val array = json.putArray("members")
    members.foreach { member =>
      array.addObject().put("store", member.store).put("uid", member.ref.uid)
        .put("offset", member.offset).put("length", member.length)
    }
    MergedFile.mapper.writeValueAsBytes(json)
  }

  def place(member: MergedMember): MergedPlace = MergedPlace(ref.uid, member.offset)
}

object MergedFile {
  private val Kind = "merged"
  private val Store = """state/\d{1,9}/\d{1,9}(/[A-Za-z0-9][A-Za-z0-9_.-]*)?"""
  private val mapper = new ObjectMapper

  /** The name of the folder of merged files, below the query's own folder in its checkpoint. */
  val Folder = "merged"

  /** @param blocksEnd
    *   where in the file the blocks end
    */
  private[snapshot] def read(bytes: Array[Byte], file: String, blocksEnd: Long): MergedFile = reading(bytes, file) {
    json =>
      if (text(json, "kind") != Kind) throw new IllegalArgumentException(s"kind is ${text(json, "kind")}")
      val version = number(json, "version")
      val members = items(json, "members").map { item =>
        val store = text(item, "store")
        if (!store.matches(Store)) throw new IllegalArgumentException(s"$store is no store's folder")
        MergedMember(store, VersionRef(version, uid(item)), number(item, "offset"), int(item, "length"))
      }
      val end = members.foldLeft(Frame.HeaderBytes.toLong) { (at, member) =>
        if (member.offset != at + Frame.BlockHeaderBytes) {
          throw new IllegalArgumentException(s"its member at ${member.offset} is no block")
        }
        member.offset + member.length
      }
      if (end != blocksEnd) throw new IllegalArgumentException("its members are not its blocks")
      MergedFile(VersionRef(version, uid(json)), members, number(json, "created"), text(json, "writer"))
  }
}
