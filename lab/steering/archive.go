package steering

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/lab/hadoop"
)

// archiveText says in the report what archive does.
const archiveText = "Masters and tasks start from a shared archive of Hadoop's classes, which halves the processor time that a process needs to start: otherwise that is nearly all of a job on two cores."

// The heaps and the compiler's settings of the lab.
const (
	masterHeap = "-Xmx256m"
	taskHeap   = "-Xmx96m"
	smallJVM   = " -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
)

// archived are a job's settings with which its processes start from an archive of classes (class data sharing): Java loads and checks
// thousands of classes at each start, and the archive has them ready. An archive is good for a class path that begins with the
// one it was made for, so that the jars come first and the configuration and the container's own folder after them.
func (n *bench) archived(options string) map[string]string {
	with := func(heap string) string {
		return heap + smallJVM + " " + options + " -cp " + n.c.Lib + "/*:" + n.c.Conf() + ":$PWD"
	}
	return map[string]string{
		"yarn.app.mapreduce.am.command-opts": with(masterHeap), "mapreduce.map.java.opts": with(taskHeap), "mapreduce.reduce.java.opts": with(taskHeap),
	}
}

// archive makes the archive, unless an earlier run has left it: one job tells which classes it loads.
func (n *bench) archive(ctx context.Context) error {
	home, err := hadoop.Home()
	if err != nil {
		return err
	}
	file := filepath.Join(home, "classes-"+n.c.Version+".jsa")
	n.conf = n.archived("-Xshare:auto -XX:SharedArchiveFile=" + file)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Fprintln(n.log, "one job to learn which classes there are, for an archive of them")
	job := n.jobs()[0]
	job.ID = "classes"
	job.Conf = map[string]string{}
	lists := []string{"master", "map", "reduce"}
	for i, name := range []string{"yarn.app.mapreduce.am.command-opts", "mapreduce.map.java.opts", "mapreduce.reduce.java.opts"} {
		lists[i] = filepath.Join(n.work, "classes-"+lists[i])
		job.Conf[name] = n.archived("-XX:DumpLoadedClassList=" + lists[i])[name]
	}
	res, err := n.c.Jobs(ctx, []hadoop.Job{job}, true)
	if err != nil {
		return err
	}
	if len(res) != 1 || res[0].State != "SUCCEEDED" {
		return fmt.Errorf("the job that tells its classes: %+v", res)
	}
	if err := n.empty(ctx); err != nil { // a process writes its list at its end
		return err
	}
	all, err := union(lists, filepath.Join(n.work, "classes"))
	if err != nil {
		return err
	}
	made := file + ".new"
	java, err := hadoop.FindJava(ctx, n.c.Version)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, java.Java, "-XX:+UseSerialGC", "-Xshare:dump", "-XX:SharedClassListFile="+all, "-XX:SharedArchiveFile="+made, "-cp", n.c.Lib+"/*").CombinedOutput()
	if err != nil {
		return fmt.Errorf("making the archive of classes: %w\n%s", err, out)
	}
	return os.Rename(made, file)
}

// union writes the names of all classes in the lists, each once. Lines that describe generated classes are left out.
func union(lists []string, to string) (string, error) {
	seen := map[string]bool{}
	for _, l := range lists {
		b, err := os.ReadFile(l)
		if err != nil {
			return "", err
		}
		for s := range strings.SplitSeq(string(b), "\n") {
			if s != "" && !strings.ContainsAny(s, "#@: ") {
				seen[s] = true
			}
		}
	}
	return to, os.WriteFile(to, []byte(strings.Join(slices.Sorted(maps.Keys(seen)), "\n")+"\n"), 0o644)
}
