// Package spark runs real Spark applications on the YARN of a lab. Spark is the one that PySpark carries, installed by pip; the applications are the
// lab's own (java/Program.java).
package spark

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// Version is that of Spark, and of PySpark.
const Version = "4.3.0"

//go:embed java/Program.java
var sources embed.FS

// Fetch makes sure that Spark is in the lab's cache, and returns the folder of its jars.
func Fetch(ctx context.Context, log io.Writer) (string, error) {
	home, err := hadoop.Home()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "pyspark-"+Version)
	err = hadoop.Once(dir, func(_, into string) error {
		fmt.Fprintf(cmp.Or(log, io.Discard), "asking pip for PySpark %s; this takes a minute or two and about 500 MB, once\n", Version)
		out, err := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "-q", "--no-deps", "--target", into, "pyspark=="+Version).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w; its last lines:\n%s", err, hadoop.LastLines(string(out), 12))
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("installing PySpark %s (it needs python3 with pip): %w", Version, err)
	}
	return filepath.Join(dir, "pyspark", "jars"), nil
}

// Application is one application to run, in client mode.
type Application struct {
	ID     string // its name; unique in a list
	User   string
	Queue  string
	Submit hadoop.Millis // after the start of the list
	Kind   string        // see Program.java
	Tasks  int
	Mean   hadoop.Millis // of its tasks
	Seed   int
	Pause  hadoop.Millis // of one of kind pause, between its steps

	Conf map[string]string // Spark's settings, without "spark."
}

// common are the settings of all applications. The heaps stay small: they are real memory.
var common = map[string]string{
	"ui.enabled": "false", "eventLog.enabled": "true", "driver.host": "127.0.0.1", "driver.bindAddress": "127.0.0.1",
	"executor.memory": "512m", "executor.memoryOverhead": "256m", "executor.cores": "2", "yarn.am.memory": "256m", "yarn.am.memoryOverhead": "128m",
	// Spark chooses other numbers of partitions for other numbers of executors where it is not told.
	"sql.adaptive.coalescePartitions.enabled": "false", "sql.shuffle.partitions": "12", "default.parallelism": "12",
	"log.level": "WARN",
}

// Run runs applications on schedule and returns when all have ended. Their event logs are in the folder events. That an application fails is an error.
func Run(ctx context.Context, c *hadoop.Cluster, apps []Application, events string) error {
	jars, err := Fetch(ctx, nil)
	if err != nil {
		return err
	}
	jar, err := program(ctx, c, jars)
	if err != nil {
		return err
	}
	if events, err = filepath.Abs(events); err != nil {
		return err
	}
	if err := os.MkdirAll(events, 0o777); err != nil {
		return err
	}
	began := time.Now()
	return host.Each(ctx, len(apps), len(apps), func(ctx context.Context, i int) error {
		a := &apps[i]
		if err := host.Sleep(ctx, a.Submit.Duration()-time.Since(began)); err != nil {
			return err
		}
		if err := a.run(ctx, c, jars, jar, events); err != nil {
			return fmt.Errorf("spark application %s: %w", a.ID, err)
		}
		return nil
	})
}

func (a *Application) run(ctx context.Context, c *hadoop.Cluster, jars, jar, events string) error {
	java := strings.Join(slices.DeleteFunc(c.JavaOptions(0), func(o string) bool { return strings.HasPrefix(o, "-Xm") }), " ")
	conf := maps.Clone(common)
	maps.Copy(conf, map[string]string{
		"yarn.queue": a.Queue, "yarn.jars": "local:" + jars + "/*", "eventLog.dir": "file://" + events, "executor.extraJavaOptions": java, "yarn.am.extraJavaOptions": java,
	})
	maps.Copy(conf, a.Conf)
	args := []string{"--master", "yarn", "--deploy-mode", "client", "--name", a.ID, "--class", "Program"}
	for _, k := range slices.Sorted(maps.Keys(conf)) {
		args = append(args, "--conf", "spark."+k+"="+conf[k])
	}
	args = append(args, jar, a.Kind, strconv.Itoa(a.Tasks), strconv.FormatInt(int64(a.Mean), 10), strconv.Itoa(a.Seed), strconv.FormatInt(int64(a.Pause), 10))
	cmd := c.JavaOn(ctx, 640, filepath.Join(jars, "*"), "org.apache.spark.deploy.SparkSubmit", args...)
	cmd.Env = append(cmd.Env, "HADOOP_USER_NAME="+a.User, "SPARK_HOME="+filepath.Dir(jars))
	log, err := os.Create(filepath.Join(c.LogDir(), "spark-"+a.ID+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		b, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w; the last lines of its log:\n%s", errors.Join(ctx.Err(), err), hadoop.LastLines(string(b), 12))
	}
	return nil
}

// program compiles the applications and returns their jar.
func program(ctx context.Context, c *hadoop.Cluster, jars string) (string, error) {
	classes, err := hadoop.ClassesOn(ctx, c.Version, filepath.Join(jars, "*"), sources, "java")
	if err != nil {
		return "", err
	}
	jar := classes + ".jar"
	err = hadoop.Once(jar, func(_, into string) error {
		java, err := hadoop.FindJava(ctx, c.Version)
		if err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, java.Command("jar"), "cf", into, "-C", classes, ".").CombinedOutput(); err != nil {
			return fmt.Errorf("%w:\n%s", err, out)
		}
		return nil
	})
	return jar, err
}
