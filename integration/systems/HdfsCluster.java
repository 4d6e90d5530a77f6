import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.Deque;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;

/** A name node and two data nodes in a JVM. Arguments: folder, port of the name node. Orders come by line; `done` answers each. */
public final class HdfsCluster {
  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    conf.set("hdfs.minidfs.basedir", new File(arguments[0]).getAbsolutePath());
    conf.set("dfs.namenode.http-address", "127.0.0.1:0");
    // A data node that is gone is known to be so after a few seconds.
    conf.setInt("dfs.namenode.heartbeat.recheck-interval", 1000);
    conf.setInt("dfs.heartbeat.interval", 1);
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(conf).nameNodePort(Integer.parseInt(arguments[1])).numDataNodes(2).build();
    cluster.waitActive();
    System.out.println("ready");
    Deque<DataNodeProperties> stopped = new ArrayDeque<>();
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    for (String order = orders.readLine(); order != null; order = orders.readLine()) {
      switch (order) {
        case "stop a data node" -> stopped.push(cluster.stopDataNode(0));
        case "start data nodes" -> {
          while (!stopped.isEmpty()) {
            cluster.restartDataNode(stopped.pop(), true);
          }
          cluster.waitActive();
        }
        case "stop the name node" -> cluster.shutdownNameNodes();
        case "start the name node" -> cluster.restartNameNode(true);
        default -> throw new IllegalArgumentException(order);
      }
      System.out.println("done: " + order);
    }
    cluster.shutdown();
  }
}
