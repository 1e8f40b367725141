package hadoop

import (
	"bytes"
	"encoding/xml"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string // part of the error
	}{
		"defaults":      {Options{Dir: "x"}, ""},
		"no folder":     {Options{}, "run folder"},
		"odd folder":    {Options{Dir: "a b"}, "choose another"},
		"scheduler":     {Options{Dir: "x", Scheduler: "lottery"}, "choose capacity or fair"},
		"store":         {Options{Dir: "x", ConfStore: "tape"}, "memory, file, fs, leveldb, zk"},
		"store of fair": {Options{Dir: "x", Scheduler: "fair", ConfStore: "memory"}, "leave the store out"},
		"nodes":         {Options{Dir: "x", Nodes: 201}, "want 1 to 200"},
		"no nodes":      {Options{Dir: "x", Nodes: -1}, "want 1 to 200"},
		"heartbeat":     {Options{Dir: "x", Heartbeat: time.Millisecond}, "shorter than 10 ms"},
		"memory":        {Options{Dir: "x", NodeMB: -1}, "memory and a vcore"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := c.o.complete()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err == nil && (o.Version != Default || o.Nodes != 3 || o.ConfStore != "memory" || o.SchedulerXML == "") {
				t.Errorf("defaults: %+v", o)
			}
		})
	}
	if o, err := (Options{Dir: "x", History: true}).complete(); err != nil || !o.HDFS {
		t.Errorf("history without HDFS: %+v, %v", o, err)
	}
}

type configuration struct {
	Property []struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	} `xml:"property"`
}

func TestWriteConf(t *testing.T) {
	dir := t.TempDir()
	o, err := Options{Dir: dir, Nodes: 3, Site: map[string]string{"a": "<b> & c", "yarn.acl.enable": "false"}, Debug: []string{"some.Logger"}}.complete()
	if err != nil {
		t.Fatal(err)
	}
	p, err := freePorts()
	if err != nil {
		t.Fatal(err)
	}
	if err := writeConf(o, dir, "/lib", p); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, "conf", name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, name := range []string{"core-site.xml", "yarn-site.xml", "hdfs-site.xml", "mapred-site.xml", "capacity-scheduler.xml"} {
		var c configuration
		if err := xml.Unmarshal(read(name), &c); err != nil || len(c.Property) == 0 {
			t.Errorf("%s: %d settings, %v", name, len(c.Property), err)
		}
		set := map[string]string{}
		for _, q := range c.Property {
			if _, twice := set[q.Name]; twice {
				t.Errorf("%s: %s is there twice", name, q.Name)
			}
			set[q.Name] = q.Value
		}
		if name == "yarn-site.xml" && (set["a"] != "<b> & c" || set["yarn.acl.enable"] != "false") {
			t.Errorf("the caller's settings: %q, %q", set["a"], set["yarn.acl.enable"])
		}
	}
	if got := string(read("topology.table")); got != "127.0.0.2 /rack-a\n127.0.0.3 /rack-a\n127.0.0.4 /rack-b\n" {
		t.Errorf("racks: %q", got)
	}
	if !bytes.Contains(read("log4j.properties"), []byte("\nlog4j.logger.some.Logger=DEBUG\n")) {
		t.Error("the logger is not at DEBUG")
	}
}

func TestFreePorts(t *testing.T) {
	p, err := freePorts()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, name := range portNames {
		if seen[p[name]] || p[name] == 0 {
			t.Errorf("port %d of %s is not its own", p[name], name)
		}
		seen[p[name]] = true
	}
	l, err := net.Listen("tcp4", "127.0.0.9:"+strconv.Itoa(p["nm"]))
	if err != nil {
		t.Errorf("not free on another address: %v", err)
	} else {
		_ = l.Close()
	}
}

func TestJavaVersion(t *testing.T) {
	for out, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime": 17,
		"openjdk version \"25\" 2025-09-16":                       25,
		"openjdk version \"24-ea\" 2025-03-18":                    24,
		"java version \"1.8.0_392\"":                              8,
		"":                                                        0,
		"openjdk version \"x\"":                                   0,
		"openjdk version \"17":                                    17,
	} {
		if got := javaVersion(out); got != want {
			t.Errorf("%q: %d, want %d", out, got, want)
		}
	}
}

// program writes a script that stands for a command.
func program(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFetchSaysWhatIsMissing(t *testing.T) {
	const java17 = `echo 'openjdk version "17.0.1"' >&2`
	for name, c := range map[string]struct {
		version, java, mvn string
		want               string
	}{
		"unknown version": {"2.7.0", java17, "exit 0", "choose one of 3.4.2, 3.5.0"},
		"no java":         {Default, "", "exit 0", "there is no java on the PATH"},
		"old java":        {Default, `echo 'java version "1.8.0_392"' >&2`, "exit 0", "is version 8; set JAVA_HOME"},
		"new java":        {Default, `echo 'openjdk version "25"' >&2`, "exit 0", "needs Java 17 to 23"},
		"no maven":        {Default, java17, "", "there is no mvn on the PATH"},
		"maven fails":     {Default, java17, `echo "no route to the repository"; exit 1`, "no route to the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("YARDMASTER_LAB", filepath.Join(dir, "lab"))
			t.Setenv("JAVA_HOME", "")
			bin := filepath.Join(dir, "bin")
			t.Setenv("PATH", bin)
			if c.java != "" {
				program(t, bin, "java", c.java)
			}
			if c.mvn != "" {
				program(t, bin, "mvn", c.mvn)
			}
			_, err := Fetch(t.Context(), c.version, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "lab", "*")); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// Maven is run offline first; its result appears atomically, and it is not run again.
func TestFetch(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("YARDMASTER_LAB", filepath.Join(dir, "lab"))
	t.Setenv("JAVA_HOME", filepath.Join(dir, "java"))
	program(t, filepath.Join(dir, "java", "bin"), "java", `echo 'openjdk version "21.0.1"' >&2`)
	bin := filepath.Join(dir, "bin")
	program(t, bin, "mvn", `echo "$1" >> "`+dir+`/asked"; grep -q '>tests<' pom.xml || exit 2; for a; do case $a in -DoutputDirectory=*) lib=${a#*=};; esac; done; `+
		`mkdir "$lib"; touch "$lib/half.jar"; [ "$1" = -o ] && exit 1; touch "$lib/whole.jar"`)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for range 2 {
		lib, err := Fetch(t.Context(), Second, nil)
		if err != nil || lib != filepath.Join(dir, "lab", "lib-"+Second) {
			t.Fatal(lib, err)
		}
		if _, err := os.Stat(filepath.Join(lib, "whole.jar")); err != nil {
			t.Error(err)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "asked")); string(b) != "-o\n-B\n" {
		t.Errorf("maven was asked %q", b)
	}
}

func TestClassesSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("YARDMASTER_LAB", dir)
	t.Setenv("JAVA_HOME", filepath.Join(dir, "java"))
	program(t, filepath.Join(dir, "java", "bin"), "java", `echo 'openjdk version "21.0.1"' >&2`)
	if err := os.MkdirAll(filepath.Join(dir, "lib-"+Default), 0o755); err != nil {
		t.Fatal(err)
	}
	src := fstest.MapFS{"java/A.java": {Data: []byte("class A {}")}}
	if _, err := Classes(t.Context(), Default, src, "java"); err == nil || !strings.Contains(err.Error(), "there is no javac") {
		t.Errorf("without a compiler: %v", err)
	}
	if _, err := Classes(t.Context(), Default, src, "none"); err == nil || !strings.Contains(err.Error(), "no sources") {
		t.Errorf("without sources: %v", err)
	}
	program(t, filepath.Join(dir, "java", "bin"), "javac", `while [ "$1" != -d ]; do shift; done; mkdir "$2"; touch "$2/A.class"`)
	classes, err := Classes(t.Context(), Default, src, "java")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(classes, "A.class")); err != nil {
		t.Error(err)
	}
}

func TestReadWorkload(t *testing.T) {
	const good = `{"id":"a","user":"u","queue":"q","submit":5,"containers":[{"count":2,"mb":128,"hold":1000},{"count":1,"mb":256,"priority":2,"hold":[1,2]}]}`
	list, err := ReadWorkload(strings.NewReader(good + "\n\n" + good))
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	want := Application{ID: "a", User: "u", Queue: "q", Submit: 5, Containers: []Group{
		{Count: 2, MB: 128, Hold: Holds{1000}}, {Count: 1, MB: 256, Priority: 2, Hold: Holds{1, 2}}}}
	if !reflect.DeepEqual(list[0], want) {
		t.Errorf("got %+v", list[0])
	}
	for line, want := range map[string]string{
		`{`: "line 1", `[]`: "line 1", `{"id":"a"}`: "id, user and queue",
		`{"id":"a","user":"u","queue":"q"}`: "it needs containers",
		`{"id":"a","user":"u","queue":"q","submit":-1,"containers":[{"count":1,"mb":1,"hold":1}]}`:                 "submit time of at least 0",
		`{"id":"a","user":"u","queue":"q","containers":[{"count":1,"mb":1}]}`:                                      "count, mb and hold",
		`{"id":"a","user":"u","queue":"q","containers":[{"count":1,"mb":1,"hold":"x"}]}`:                           "a number of milliseconds or a list",
		`{"id":"a","user":"u","queue":"q","containers":[{"count":1,"mb":1,"hold":1},{"count":1,"mb":2,"hold":1}]}`: "two sizes at priority 1",
	} {
		if _, err := ReadWorkload(strings.NewReader(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// What is read can be written and read again unchanged.
func FuzzReadWorkload(f *testing.F) {
	f.Add([]byte(`{"id":"a","user":"u","queue":"q","submit":5,"containers":[{"count":2,"mb":128,"hold":[1,2],"nodes":["127.0.0.2"]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := ReadWorkload(bytes.NewReader(b))
		if err != nil {
			return
		}
		var w bytes.Buffer
		if err := WriteLines(&w, list); err != nil {
			t.Fatal(err)
		}
		again, err := ReadWorkload(&w)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d of %d applications, %v", len(again), len(list), err)
		}
	})
}

func TestJobSizes(t *testing.T) {
	j := Job{MapMB: 300, AMMB: 600, Conf: map[string]string{"mapreduce.map.memory.mb": "1"}}
	got := j.withSizes().Conf
	want := map[string]string{"mapreduce.map.memory.mb": "1", "yarn.app.mapreduce.am.resource.mb": "600"}
	if !reflect.DeepEqual(got, want) || len(j.Conf) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestProperties(t *testing.T) {
	got := Properties("a.", map[string]string{"b": "1 < 2 & 3", "a": "x"})
	want := `<?xml version="1.0"?>
<configuration>
  <property><name>a.a</name><value>x</value></property>
  <property><name>a.b</name><value>1 &lt; 2 &amp; 3</value></property>
</configuration>
`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
