package org.apache.spark.sql.connect.snapline

import org.apache.spark.SparkConf
import org.apache.spark.api.python.PythonUtils

/** The server's Python, as its workers have it. */
private[snapline] object ServerPython {
  def interpreter(conf: SparkConf): String =
    sys.env
      .get("PYSPARK_PYTHON")
      .orElse(conf.getOption("spark.pyspark.python"))
      .orElse(sys.env.get("PYSPARK_DRIVER_PYTHON"))
      .getOrElse("python3")

  /** Its module path, with pyspark's where that is in Spark's own folder. */
  def path: String = PythonUtils.mergePythonPaths(PythonUtils.sparkPythonPath, sys.env.getOrElse("PYTHONPATH", ""))
}
