package io.snapline.integration;

import static net.bytebuddy.matcher.ElementMatchers.hasSuperType;
import static net.bytebuddy.matcher.ElementMatchers.isAbstract;
import static net.bytebuddy.matcher.ElementMatchers.isInterface;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.not;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.lang.instrument.Instrumentation;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import org.apache.hadoop.conf.Configuration;

/**
 * Two advices on Spark's state store classes, woven in when they are loaded.
 *
 * <p>Every StateStoreProvider.init() is counted by provider class: it tells whether a test really used the provider under test.
 * It is there too that a provider is given the state backend under test.
 *
 * <p>In redirected suites StateStoreProvider.create() makes the provider under test where Spark asks for its RocksDB provider.
 * Offline repartition and the reader of all column families accept that one by class name only.
 */
public final class Probe {
  public static final String ROCKSDB =
      "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider";
  public static final String HDFS =
      "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider";

  private static volatile String redirectTo = null;
  private static volatile boolean redirectDefault = false;
  private static volatile Map<String, LongAdder> counts = new ConcurrentHashMap<>();

  private Probe() {}

  /** @param withDefault whether Spark's default provider is replaced too: for suites that never set one */
  public static void redirect(String provider, boolean withDefault) {
    redirectDefault = withDefault;
    redirectTo = provider;
  }

  public static void redirectNothing() {
    redirectTo = null;
  }

  public static void begin() {
    counts = new ConcurrentHashMap<>();
  }

  public static Map<String, LongAdder> counts() {
    return counts;
  }

  /** Tests that open a store by themselves pass settings of their own, in which there is no backend: every provider has the one under test. */
  public static void onInit(Object provider, Configuration settings) {
    counts.computeIfAbsent(provider.getClass().getName(), k -> new LongAdder()).increment();
    String backend = System.getProperty("snapline.integration.backend");
    if (backend != null) settings.set("spark.snapline.state.backend.type", backend);
  }

  public static String target(String name) {
    boolean from = ROCKSDB.equals(name) || (redirectDefault && HDFS.equals(name));
    return redirectTo != null && from ? redirectTo : name;
  }

  public static final class InitAdvice {
    private InitAdvice() {}

    @Advice.OnMethodEnter
    public static void enter(@Advice.This Object self, @Advice.Argument(6) Configuration settings) {
      Probe.onInit(self, settings);
    }
  }

  public static final class CreateAdvice {
    private CreateAdvice() {}

    // The advice assigns a parameter: that is how it changes the argument.
    @Advice.OnMethodEnter
    public static void enter(@Advice.Argument(value = 0, readOnly = false) String name) {
      name = Probe.target(name);
    }
  }

  public static void install(Instrumentation instrumentation) {
    String state = "org.apache.spark.sql.execution.streaming.state.";
    new AgentBuilder.Default()
        .type(named(state + "StateStoreProvider$"))
        .transform(
            (builder, type, loader, module, domain) ->
                builder.visit(
                    Advice.to(CreateAdvice.class).on(named("create").and(takesArguments(String.class)))))
        .type(hasSuperType(named(state + "StateStoreProvider")).and(not(isInterface())))
        .transform(
            (builder, type, loader, module, domain) ->
                builder.visit(
                    Advice.to(InitAdvice.class)
                        .on(named("init").and(takesArgument(0, named(state + "StateStoreId"))).and(not(isAbstract())))))
        .installOn(instrumentation);
  }
}
