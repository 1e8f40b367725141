package sls

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// write writes everything that the JVM reads.
func (o *Options) write() error {
	conf := filepath.Join(o.Dir, "conf")
	for _, d := range []string{conf, filepath.Join(o.Dir, "tmp"), filepath.Join(o.Dir, "out")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	files := map[string][]byte{
		"core-site.xml": Properties(map[string]string{
			"fs.defaultFS": "file:///",
			// Without it every container token asks the resolver for its node.
			"hadoop.security.token.service.use_ip": "false",
			"hadoop.tmp.dir":                       filepath.Join(o.Dir, "tmp"),
		}),
		"yarn-site.xml":    Properties(o.site(conf)),
		"sls-runner.xml":   Properties(o.runner()),
		"log4j.properties": []byte(fmt.Sprintf(log4j, logFile(o.Dir))),
	}
	if o.Capacity != nil {
		files["capacity-scheduler.xml"] = o.Capacity
	} else {
		files["fair-scheduler.xml"] = o.Fair
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(conf, name), b, 0o644); err != nil {
			return err
		}
	}
	var trace, nodes bytes.Buffer
	if err := WriteTrace(&trace, o.Jobs); err != nil {
		return err
	}
	if err := WriteNodes(&nodes, o.Racks); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "trace.json"), trace.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.Dir, "nodes.json"), nodes.Bytes(), 0o644)
}

// site is yarn-site.xml: what the run asks for, on top of what every run needs.
func (o *Options) site(conf string) map[string]string {
	m := map[string]string{
		"yarn.resourcemanager.hostname":                               "127.0.0.1",
		"yarn.resourcemanager.address":                                "127.0.0.1:0",
		"yarn.resourcemanager.scheduler.address":                      "127.0.0.1:0",
		"yarn.resourcemanager.resource-tracker.address":               "127.0.0.1:0",
		"yarn.resourcemanager.admin.address":                          "127.0.0.1:0",
		"yarn.resourcemanager.webapp.address":                         "127.0.0.1:0",
		"yarn.resourcemanager.client.thread-count":                    "4",
		"yarn.resourcemanager.scheduler.client.thread-count":          "2",
		"yarn.resourcemanager.resource-tracker.client.thread-count":   "2",
		"yarn.resourcemanager.admin.client.thread-count":              "1",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms":     strconv.FormatInt(o.Heartbeat.Milliseconds(), 10),
		"yarn.resourcemanager.am.max-attempts":                        "1",
		"yarn.resourcemanager.state-store.max-completed-applications": "100000",
		"yarn.resourcemanager.max-completed-applications":             "100000",
		"yarn.nm.liveness-monitor.expiry-interval-ms":                 "600000",
		"yarn.admin.acl": "*",
	}
	if o.Fair != nil {
		m["yarn.resourcemanager.scheduler.class"] = "yardmaster.Fair"
		m["yarn.scheduler.fair.allocation.file"] = filepath.Join(conf, "fair-scheduler.xml")
	} else {
		m["yarn.resourcemanager.scheduler.class"] = "yardmaster.Capacity"
		m["yarn.resourcemanager.scheduler.monitor.policies"] = "yardmaster.Rounds"
	}
	maps.Copy(m, o.Site)
	return m
}

func (o *Options) runner() map[string]string {
	ms := strconv.FormatInt(o.Heartbeat.Milliseconds(), 10)
	nodes := 0
	for i := range o.Racks {
		nodes += len(o.Racks[i].Nodes)
	}
	return map[string]string{
		"yarn.sls.runner.pool.size":         strconv.Itoa(min(10+nodes/10, 60)),
		"yarn.sls.nm.heartbeat.interval.ms": ms,
		"yarn.sls.am.heartbeat.interval.ms": ms,
		// Its own metrics cost time, and with the FairScheduler lose applications whose queue they have not noted yet.
		"yarn.sls.metrics.switch": "false",
	}
}

// Properties writes a Hadoop configuration file.
func Properties(m map[string]string) []byte {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString("  <property><name>")
		escape(&b, k)
		b.WriteString("</name><value>")
		escape(&b, m[k])
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.Bytes()
}

func escape(w io.Writer, s string) {
	_ = xml.EscapeText(w, []byte(s)) // a buffer does not fail
}

// log4j writes our events and the lives of containers to a file with milliseconds since the start of the JVM, and warnings
// of everything else to the console.
const log4j = `log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%%r %%p %%c{1}: %%m%%n
log4j.appender.events=org.apache.log4j.FileAppender
log4j.appender.events.File=%s
log4j.appender.events.layout=org.apache.log4j.PatternLayout
log4j.appender.events.layout.ConversionPattern=%%r %%c{1} %%m%%n
log4j.logger.y=INFO,events
log4j.additivity.y=false
log4j.logger.org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl=INFO,events
log4j.additivity.org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl=false
log4j.logger.org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.allocator.AbstractContainerAllocator=INFO,events
log4j.additivity.org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.allocator.AbstractContainerAllocator=false
log4j.logger.org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp=INFO,events
log4j.additivity.org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp=false
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
`
