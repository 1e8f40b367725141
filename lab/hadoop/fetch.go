package hadoop

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

// The versions that the lab knows. Default has every part; Second is a newer ResourceManager without examples and SLS, which
// nobody has published for it.
const (
	Default = "3.4.2"
	Second  = "3.5.0"
)

//go:embed files/pom.xml
var pomText string

var pom = template.Must(template.New("pom").Parse(pomText))

type part struct{ Name, Classifier string }

// daemons are the parts that every version needs. The timeline service must be there even when it is off: the ResourceManager
// does not start without its classes. The tests of the job client hold SleepJob.
var daemons = []part{
	{"hadoop-common", ""}, {"hadoop-hdfs", ""}, {"hadoop-hdfs-client", ""},
	{"hadoop-yarn-client", ""}, {"hadoop-yarn-server-resourcemanager", ""}, {"hadoop-yarn-server-nodemanager", ""},
	{"hadoop-yarn-server-applicationhistoryservice", ""}, {"hadoop-yarn-server-timelineservice", ""},
	{"hadoop-mapreduce-client-app", ""}, {"hadoop-mapreduce-client-hs", ""}, {"hadoop-mapreduce-client-shuffle", ""},
	{"hadoop-mapreduce-client-jobclient", ""}, {"hadoop-mapreduce-client-jobclient", "tests"},
}

// versions has the parts and the Java versions (from, up to and including) of each version of Hadoop. From Java 24 on the
// security manager is gone and Hadoop 3.4 with it.
var versions = map[string]struct {
	parts   []part
	minJava int
	maxJava int
}{
	Default: {append(append([]part{}, daemons...),
		part{"hadoop-mapreduce-examples", ""}, part{"hadoop-yarn-applications-distributedshell", ""}, part{"hadoop-sls", ""}), 17, 23},
	Second: {daemons, 17, 25},
}

// Versions has the versions of Hadoop that Fetch knows.
func Versions() []string {
	return slices.Sorted(maps.Keys(versions))
}

// Home is where the lab keeps what is costly to make: $YARDMASTER_LAB, or yardmaster-lab in the user's cache folder.
func Home() (string, error) {
	if d := os.Getenv("YARDMASTER_LAB"); d != "" {
		return filepath.Abs(d)
	}
	d, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for the lab: %w; set YARDMASTER_LAB", err)
	}
	return filepath.Join(d, "yardmaster-lab"), nil
}

// copyPlugin is pinned, so that the same artefacts are asked for everywhere.
const copyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"

// Fetch makes sure that the jars of a version are in Home()/lib-VERSION and answers that folder. It is there as a whole or
// not at all. Maven is asked without the network first, which takes seconds when it has been asked before; then with it,
// which takes minutes. log may be nil.
func Fetch(ctx context.Context, version string, log io.Writer) (string, error) {
	v, ok := versions[version]
	if !ok {
		return "", fmt.Errorf("the lab does not know Hadoop %s; choose one of %s", version, strings.Join(Versions(), ", "))
	}
	home, err := Home()
	if err != nil {
		return "", err
	}
	lib := filepath.Join(home, "lib-"+version)
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if _, err := FindJava(ctx, version); err != nil {
		return "", err
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("fetching Hadoop %s needs Maven, and there is no mvn on the PATH; install it (Debian: apt install maven)",
			version)
	}
	err = Once(lib, func(tmp, into string) error {
		var text bytes.Buffer
		if err := pom.Execute(&text, struct {
			Version string
			Parts   []part
		}{version, v.parts}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), text.Bytes(), 0o644); err != nil {
			return err
		}
		return resolve(ctx, mvn, tmp, into, cmp.Or(log, io.Discard))
	})
	if err != nil {
		return "", fmt.Errorf("fetching Hadoop %s: %w", version, err)
	}
	return lib, nil
}

func resolve(ctx context.Context, mvn, dir, into string, log io.Writer) error {
	began := time.Now()
	run := func(more ...string) (string, error) {
		cmd := exec.CommandContext(ctx, mvn, append(more, "-B", "-q", copyPlugin, "-DoutputDirectory="+into, "-DincludeScope=runtime")...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			_ = os.RemoveAll(into)
		}
		return string(out), err
	}
	if _, err := run("-o"); err == nil {
		fmt.Fprintf(log, "jars copied from Maven's own cache in %.1f s\n", time.Since(began).Seconds())
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	fmt.Fprintf(log, "asking Maven for the jars; this takes some minutes and about 100 MB, once\n")
	out, err := run()
	if err != nil {
		return fmt.Errorf("maven: %w; its last lines:\n%s", err, LastLines(out, 12))
	}
	fmt.Fprintf(log, "jars fetched in %.1f s\n", time.Since(began).Seconds())
	return nil
}

// LastLines is the end of a text.
func LastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
