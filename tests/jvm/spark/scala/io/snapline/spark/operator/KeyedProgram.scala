package io.snapline.spark.operator

/** The state of one key, as a function sees it. */
trait KeyedState {
  def value: Option[Long]
  def value_=(value: Option[Long]): Unit
  def list: Seq[Long]
  def append(element: Long): Unit
  def clearList(): Unit
  def entry(key: Long): Option[Long]
  def put(key: Long, value: Long): Unit
  def remove(key: Long): Unit
  def entries: Map[Long, Long]
  def clearMap(): Unit
  def register(time: Long): Unit
  def delete(time: Long): Unit
}

/** A function that does a little of everything, as rows and times tell it; run by the model and by the worker alike. */
object KeyedProgram {
  type Output = (Long, Long, Long, Long)

  def row(key: Long, number: Long, time: Long, state: KeyedState): Seq[Output] = {
    val sum = state.value.getOrElse(0L) + number
    state.value = if (sum % 5 == 0) None else Some(sum)
    if (number % 7 == 0) state.clearList()
    if (number % 2 == 0) state.append(number)
    val at = number % 3
    val count = state.entry(at).getOrElse(0L) + 1
    if (number % 13 == 0) state.clearMap()
    if (number % 4 == 0) state.remove(at) else state.put(at, count)
    if (number % 2 == 1) state.register(time + number % 6)
    if (number % 3 == 0) state.delete(time + 2)
    val shown = if (number % 5 < 2) state.list.sum else -1L
    Seq((key, sum, shown, if (number % 6 == 0) state.entries.values.sum else count))
  }

  def timer(key: Long, time: Long, state: KeyedState): Seq[Output] = {
    state.put(100 + time % 2, time)
    if (time % 3 == 0) state.value = None
    if (time % 2 == 0) state.register(time + 1)
    if (time % 5 == 0) state.delete(time + 1)
    Seq((key, -time, state.list.size.toLong, state.entries.size.toLong))
  }
}

/** What the operator should come to, in plain maps. */
final class KeyedModel {
  import scala.collection.mutable

  val values = mutable.Map.empty[Long, Long]
  val lists = mutable.Map.empty[Long, Vector[Long]]
  val maps = mutable.Map.empty[(Long, Long), Long]
  val timers = mutable.Set.empty[(Long, Long)]

  private final class Of(of: Long) extends KeyedState {
    override def value: Option[Long] = values.get(of)
    override def value_=(value: Option[Long]): Unit = values.updateWith(of)(_ => value): Unit
    override def list: Seq[Long] = lists.getOrElse(of, Vector.empty)
    override def append(element: Long): Unit = lists(of) = lists.getOrElse(of, Vector.empty) :+ element
    override def clearList(): Unit = lists.remove(of): Unit
    override def entry(key: Long): Option[Long] = maps.get(of -> key)
    override def put(key: Long, value: Long): Unit = maps(of -> key) = value
    override def remove(key: Long): Unit = maps.remove(of -> key): Unit
    override def entries: Map[Long, Long] = maps.collect { case ((k, entry), v) if k == of => entry -> v }.toMap
    override def clearMap(): Unit = entries.keys.foreach(remove)
    override def register(time: Long): Unit = timers += time -> of: Unit
    override def delete(time: Long): Unit = timers -= time -> of: Unit
  }

  /** One micro-batch; what each key puts out, in order. */
  def run(rows: Seq[(Long, Long, Long)], watermark: Long): Map[Long, Seq[KeyedProgram.Output]] = {
    val out = rows.flatMap { case (key, number, time) => KeyedProgram.row(key, number, time, new Of(key)) }.toBuffer
    var due = timers.filter(_._1 <= watermark).minOption
    while (due.isDefined) {
      val (time, key) = due.get
      timers -= due.get
      out ++= KeyedProgram.timer(key, time, new Of(key))
      due = timers.filter(_._1 <= watermark).minOption
    }
    out.toSeq.groupBy(_._1)
  }
}
