import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/**
 * A Spark application for the lab: Program KIND TASKS MEAN_MS SEED PAUSE_MS. Its tasks move a little real data and sleep for the rest of their time, so
 * that many of them run on a machine with few processors as they would on one with many.
 */
public final class Program {
    private final JavaSparkContext sc;
    private final SparkSession spark;
    private final int tasks;
    private final int mean;
    private final long seed;
    private final long pause;

    private Program(SparkSession spark, int tasks, int mean, long seed, long pause) {
        this.spark = spark;
        this.sc = new JavaSparkContext(spark.sparkContext());
        this.tasks = tasks;
        this.mean = mean;
        this.seed = seed;
        this.pause = pause;
    }

    public static void main(String[] args) throws Exception {
        SparkSession spark = SparkSession.builder().getOrCreate();
        Program p = new Program(spark, Integer.parseInt(args[1]), Integer.parseInt(args[2]), Long.parseLong(args[3]), Long.parseLong(args[4]));
        switch (args[0]) {
            case "join": p.join(); break;
            case "lookup": p.lookup(); break;
            case "shuffle": p.shuffle(); break;
            case "skew": p.skew(); break;
            case "cache": p.cache(); break;
            case "pause": p.pause(); break;
            case "threads": p.threads(); break;
            default: throw new IllegalArgumentException("unknown kind " + args[0]);
        }
        spark.stop();
    }

    /** Sleeps for a time drawn for a partition of a stage: from half to twice the mean. */
    private static void nap(long seed, int stage, int partition, int mean) {
        double u = new Random(seed * 1_000_003 + stage * 7919L + partition).nextDouble();
        u = new Random(Double.doubleToLongBits(u)).nextDouble();
        pause((long) (mean * Math.pow(2, 2 * u - 1)));
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) { // the task is killed
            throw new RuntimeException(e);
        }
    }

    /** An RDD of which each partition takes its time, and holds some numbers. */
    private JavaRDD<Long> numbers(int stage, int parts, int mean) {
        long seed = this.seed;
        return sc.parallelize(IntStream.range(0, parts).boxed().collect(Collectors.toList()), parts).mapPartitionsWithIndex((i, it) -> {
            nap(seed, stage, i, mean);
            List<Long> list = new ArrayList<>();
            Random r = new Random(seed + i);
            for (int k = 0; k < 2000; k++) {
                list.add(r.nextLong() & 0xffff);
            }
            return list.iterator();
        }, true);
    }

    private JavaPairRDD<Long, Long> summed(JavaRDD<Long> in, int stage, int parts, int mean) {
        long seed = this.seed;
        return in.mapToPair(x -> new Tuple2<>(x % 997, 1L)).reduceByKey(Long::sum, parts).mapPartitionsToPair(it -> {
            nap(seed, stage, org.apache.spark.TaskContext.getPartitionId(), mean);
            return it;
        }, true);
    }

    private void shuffle() {
        JavaPairRDD<Long, Long> first = summed(numbers(0, tasks, mean), 1, tasks / 2, mean);
        long seed = this.seed;
        int mean = this.mean;
        first.mapToPair(Tuple2::swap).groupByKey(tasks / 4).mapPartitions(it -> {
            nap(seed, 2, org.apache.spark.TaskContext.getPartitionId(), mean);
            return it;
        }).count();
    }

    private void skew() {
        long seed = this.seed;
        int mean = this.mean;
        numbers(0, tasks, mean).mapToPair(x -> new Tuple2<>(x % 3 == 0 ? 0L : x, 1L)).groupByKey(tasks / 2).mapPartitions(it -> {
            int i = org.apache.spark.TaskContext.getPartitionId();
            nap(seed, 1, i, i == 0 ? 8 * mean : mean); // the partition with the frequent key
            return it;
        }).count();
    }

    private void cache() {
        JavaRDD<Long> data = numbers(0, tasks, 2 * mean).persist(StorageLevel.MEMORY_ONLY());
        data.count();
        long seed = this.seed;
        int mean = this.mean;
        for (int k = 1; k <= 4; k++) {
            int stage = k;
            data.mapPartitionsWithIndex((i, it) -> {
                nap(seed, stage, i, mean / 2);
                return it;
            }, true).mapToPair(x -> new Tuple2<>(x % 10, x)).reduceByKey(Long::sum, 4).collect();
        }
    }

    /** A notebook: somebody thinks between the steps. */
    private void pause() {
        for (int k = 0; k < 3; k++) {
            if (k > 0) {
                pause(pause);
            }
            summed(numbers(2 * k, tasks, mean), 2 * k + 1, tasks / 2, mean).count();
        }
    }

    private void threads() throws Exception {
        List<Thread> all = new ArrayList<>();
        for (int k = 0; k < 3; k++) {
            int n = k;
            Thread t = new Thread(() -> {
                sc.setLocalProperty("spark.scheduler.pool", "pool" + n);
                summed(numbers(2 * n, tasks, mean), 2 * n + 1, tasks / 2, mean).count();
            });
            t.start();
            all.add(t);
        }
        for (Thread t : all) {
            t.join();
        }
    }

    private Dataset<Row> table(int stage, int parts) {
        long seed = this.seed;
        int mean = this.mean;
        return spark.range(0, parts * 1000L, 1, parts).mapPartitions((org.apache.spark.api.java.function.MapPartitionsFunction<Long, Long>) it -> {
            nap(seed, stage, org.apache.spark.TaskContext.getPartitionId(), mean);
            return it;
        }, Encoders.LONG()).toDF("id").withColumn("k", functions.expr("id % 5000")).withColumn("v", functions.expr("id * 7 % 1000"));
    }

    private Dataset<Row> slow(Dataset<Row> in, int stage) {
        long seed = this.seed;
        int mean = this.mean;
        return in.mapPartitions((org.apache.spark.api.java.function.MapPartitionsFunction<Row, Row>) it -> {
            nap(seed, stage, org.apache.spark.TaskContext.getPartitionId(), mean);
            return it;
        }, Encoders.row(in.schema()));
    }

    private void join() {
        Dataset<Row> a = table(0, tasks);
        Dataset<Row> b = table(1, tasks / 2).withColumnRenamed("v", "w");
        Dataset<Row> joined = slow(a.join(b, "k").groupBy("k").agg(functions.sum("v").as("v"), functions.max("w").as("w")), 2);
        joined.groupBy(functions.expr("k % 100").as("k")).agg(functions.sum("v")).orderBy("k").collect();
    }

    /** A join with a small table, which the driver collects first. */
    private void lookup() {
        Dataset<Row> small = table(0, 4).limit(100).withColumnRenamed("v", "w");
        slow(table(1, tasks).join(functions.broadcast(small), "k").groupBy("k").agg(functions.sum("w").as("w")), 2).count();
    }
}
