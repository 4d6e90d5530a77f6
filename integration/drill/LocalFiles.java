import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.apache.spark.TaskContext;

/**
 * Hadoop's local file system, without the processes it starts where its native library is missing: chmod for each file that is made, readlink for each
 * rename. They cost half of a life. Files, and the order in which they come and go, are the same.
 *
 * <p>While the file exists that the system property drill.outage names, nothing can be written below a folder named state or snapline. A file of a snapshot takes
 * as many milliseconds more as the system property drill.slow says.
 *
 * <p>A task that makes a changelog and finds the file that the system property drill.stuck names takes it away. It then stays for as many milliseconds as the
 * file says, whoever interrupts it.
 */
public final class LocalFiles extends LocalFileSystem {
  public LocalFiles() {
    super(new Raw());
  }

  private static final class Raw extends RawLocalFileSystem {
    private static final String OUTAGE = System.getProperty("drill.outage", "");
    private static final long SLOW = Long.getLong("drill.slow", 0);
    private static final String STUCK = System.getProperty("drill.stuck", "");

    @Override
    public FSDataOutputStream create(
        Path path, boolean overwrite, int buffer, short replication, long block, Progressable progress) throws IOException {
      check(path);
      return super.create(path, overwrite, buffer, replication, block, progress);
    }

    @Override
    public FSDataOutputStream create(
        Path path, FsPermission permission, boolean overwrite, int buffer, short replication, long block, Progressable progress)
        throws IOException {
      check(path);
      return super.create(path, permission, overwrite, buffer, replication, block, progress);
    }

    private static void check(Path path) throws IOException {
      if (!OUTAGE.isEmpty() && path.toString().matches(".*/(state|snapline)/.*") && new File(OUTAGE).exists()) {
        throw new IOException("the storage is gone: " + path);
      }
      if (!STUCK.isEmpty() && TaskContext.get() != null && path.getName().endsWith(".changelog")) stay(new File(STUCK));
      if (SLOW > 0 && path.toString().matches(".*/state/.*[.](sst|handle)")) {
        try {
          Thread.sleep(SLOW);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new InterruptedIOException(path.toString());
        }
      }
    }

    /** Of many tasks one has the file: a rename succeeds once. */
    private static void stay(File told) throws IOException {
      File taken = new File(told.getPath() + "." + UUID.randomUUID());
      if (!told.renameTo(taken)) return;
      long end = System.nanoTime() + 1_000_000L * Long.parseLong(Files.readString(taken.toPath()).trim());
      boolean interrupted = false;
      for (long rest = end - System.nanoTime(); rest > 0; rest = end - System.nanoTime()) {
        try {
          TimeUnit.NANOSECONDS.sleep(rest);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) Thread.currentThread().interrupt();
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      FsPermission plain = new FsPermission(permission.getUserAction(), permission.getGroupAction(), permission.getOtherAction());
      Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(plain.toString()));
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
      if (Files.isSymbolicLink(pathToFile(path).toPath())) return super.getFileLinkStatus(path);
      return getFileStatus(path);
    }
  }

  /** The same for FileContext, which Spark's logs are written through. */
  public static final class Context extends ChecksumFs {
    public Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
      super(new RawContext(conf));
    }
  }

  private static final class RawContext extends DelegateToFileSystem {
    RawContext(Configuration conf) throws IOException, URISyntaxException {
      super(URI.create("file:///"), new Raw(), conf, "file", false);
    }

    @Override
    public int getUriDefaultPort() {
      return -1;
    }

    @Override
    public boolean isValidName(String name) {
      return true;
    }
  }
}
