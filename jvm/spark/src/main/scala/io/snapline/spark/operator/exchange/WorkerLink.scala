package io.snapline.spark.operator.exchange

import java.nio.ByteBuffer

/** The two-way stream of frames to one worker. */
trait WorkerLink {

  /** Queues a frame; what the socket takes at once is on its way when this returns. */
  def send(frame: Array[ByteBuffer]): Unit

  /** Waits for the worker's next frame; null when it has ended as it should. */
  def receive(): Frame

  /** No more frames will be sent. */
  def finish(): Unit
}
