package hadoop

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var (
	//go:embed files/capacity-scheduler.xml
	capacityXML string
	//go:embed files/fair-scheduler.xml
	fairXML string
	//go:embed files/log4j.properties
	log4j string
)

// hostVariable carries a daemon's address; Configuration puts it in where hostHere stands.
const (
	hostVariable = "YARDMASTER_HOST"
	hostHere     = "${env." + hostVariable + ":-127.0.0.1}"
	master       = "127.0.0.1"
)

// host is the address of node i.
func host(i int) string { return fmt.Sprintf("127.0.0.%d", i+2) }

// rack is the rack of node i of n: the first half, and the rest.
func rack(i, n int) string {
	if i < (n+1)/2 {
		return "/rack-a"
	}
	return "/rack-b"
}

// writeConf fills the configuration folder.
func writeConf(o Options, dir, lib string, p ports) error {
	conf := filepath.Join(dir, "conf")
	var table, loggers strings.Builder
	for i := range o.Nodes {
		fmt.Fprintf(&table, "%s %s\n", host(i), rack(i, o.Nodes))
	}
	for _, l := range o.Debug {
		fmt.Fprintf(&loggers, "log4j.logger.%s=DEBUG\n", l)
	}
	files := map[string]string{
		"core-site.xml":    xmlText(over(coreSite(o, dir, p), o.Core)),
		"yarn-site.xml":    xmlText(over(yarnSite(o, dir, lib, p), o.Site)),
		"hdfs-site.xml":    xmlText(over(hdfsSite(dir, p), o.HDFSSite)),
		"mapred-site.xml":  xmlText(over(mapredSite(dir, lib, p), o.Mapred)),
		"log4j.properties": log4j + loggers.String(),
		"topology.table":   table.String(),
	}
	if o.Scheduler == "fair" {
		files["fair-scheduler.xml"] = o.SchedulerXML
	} else {
		files["capacity-scheduler.xml"] = o.SchedulerXML
	}
	// Maven's hadoop-hdfs has no web pages, and its daemons do not start without the folders. Their REST is not in there.
	for _, w := range []string{"hdfs", "datanode", "secondary"} {
		files["webapps/"+w+"/WEB-INF/web.xml"] = `<web-app version="2.4" xmlns="http://java.sun.com/xml/ns/j2ee"/>` + "\n"
	}
	for name, text := range files {
		path := filepath.Join(conf, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("writing the lab's configuration: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the lab's configuration: %w", err)
		}
	}
	return nil
}

func coreSite(o Options, dir string, p ports) map[string]string {
	m := map[string]string{
		"fs.defaultFS":                               "file:///",
		"hadoop.tmp.dir":                             filepath.Join(dir, "tmp"),
		"net.topology.node.switch.mapping.impl":      "org.apache.hadoop.net.TableMapping",
		"net.topology.table.file.name":               filepath.Join(dir, "conf", "topology.table"),
		"hadoop.http.staticuser.user":                "dr.who",
		"ipc.client.connect.retry.interval":          "200",
		"hadoop.proxyuser." + userName() + ".hosts":  "*",
		"hadoop.proxyuser." + userName() + ".groups": "*",
	}
	if o.HDFS {
		m["fs.defaultFS"] = "hdfs://" + p.at("namenode-rpc")
	}
	return m
}

func yarnSite(o Options, dir, lib string, p ports) map[string]string {
	class := rmPackage + "scheduler.capacity.CapacityScheduler"
	if o.Scheduler == "fair" {
		class = rmPackage + "scheduler.fair.FairScheduler"
	}
	work := filepath.Join(dir, "work", hostHere)
	timeline := strconv.FormatBool(o.Timeline)
	m := map[string]string{
		"yarn.resourcemanager.hostname":                                                 master,
		"yarn.resourcemanager.address":                                                  p.at("rm-client"),
		"yarn.resourcemanager.scheduler.address":                                        p.at("rm-scheduler"),
		"yarn.resourcemanager.resource-tracker.address":                                 p.at("rm-tracker"),
		"yarn.resourcemanager.admin.address":                                            p.at("rm-admin"),
		"yarn.resourcemanager.webapp.address":                                           p.at("rm-web"),
		"yarn.resourcemanager.connect.retry-interval.ms":                                "500",
		"yarn.resourcemanager.scheduler.class":                                          class,
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms":                       strconv.FormatInt(o.Heartbeat.Milliseconds(), 10),
		"yarn.scheduler.configuration.store.class":                                      o.ConfStore,
		"yarn.scheduler.configuration.leveldb-store.path":                               filepath.Join(dir, "confstore"),
		"yarn.scheduler.configuration.fs.path":                                          "file://" + filepath.Join(dir, "confstore-fs"),
		"yarn.scheduler.fair.allocation.file":                                           filepath.Join(dir, "conf", "fair-scheduler.xml"),
		"yarn.scheduler.minimum-allocation-mb":                                          "128",
		"yarn.scheduler.maximum-allocation-mb":                                          strconv.Itoa(o.NodeMB),
		"yarn.scheduler.maximum-allocation-vcores":                                      strconv.Itoa(o.NodeVcores),
		"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms":               "86400000", // masters may hold room without using it
		"yarn.cluster.max-application-priority":                                         "10",
		"yarn.acl.enable":                                                               "true",
		"yarn.admin.acl":                                                                "yardmaster," + userName(),
		"yarn.nodemanager.hostname":                                                     hostHere,
		"yarn.nodemanager.address":                                                      p.here("nm"),
		"yarn.nodemanager.localizer.address":                                            p.here("nm-localizer"),
		"yarn.nodemanager.webapp.address":                                               p.here("nm-web"),
		"yarn.nodemanager.collector-service.address":                                    p.here("nm-collector"),
		"yarn.nodemanager.local-dirs":                                                   filepath.Join(work, "local"),
		"yarn.nodemanager.log-dirs":                                                     filepath.Join(work, "logs"),
		"yarn.nodemanager.resource.memory-mb":                                           strconv.Itoa(o.NodeMB),
		"yarn.nodemanager.resource.cpu-vcores":                                          strconv.Itoa(o.NodeVcores),
		"yarn.nodemanager.pmem-check-enabled":                                           "false",
		"yarn.nodemanager.vmem-check-enabled":                                           "false",
		"yarn.nodemanager.container-monitor.enabled":                                    "false", // many nodes read the same machine's /proc
		"yarn.nodemanager.env-whitelist":                                                "JAVA_HOME,HADOOP_CONF_DIR,YARDMASTER_RUN",
		"yarn.nodemanager.delete.debug-delay-sec":                                       "0",
		"yarn.application.classpath":                                                    filepath.Join(dir, "conf") + "," + filepath.Join(lib, "*"),
		"yarn.timeline-service.enabled":                                                 timeline,
		"yarn.system-metrics-publisher.enabled":                                         timeline,
		"yarn.resourcemanager.system-metrics-publisher.enabled":                         timeline,
		"yarn.timeline-service.generic-application-history.enabled":                     timeline,
		"yarn.rm.system-metrics-publisher.emit-container-events":                        timeline,
		"yarn.timeline-service.hostname":                                                master,
		"yarn.timeline-service.address":                                                 p.at("timeline-rpc"),
		"yarn.timeline-service.webapp.address":                                          p.at("timeline-web"),
		"yarn.timeline-service.leveldb-timeline-store.path":                             filepath.Join(dir, "timeline"),
		"yarn.timeline-service.leveldb-state-store.path":                                filepath.Join(dir, "timeline"),
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
	}
	if o.HDFS {
		m["yarn.nodemanager.aux-services"] = "mapreduce_shuffle"
		m["yarn.nodemanager.aux-services.mapreduce_shuffle.class"] = "org.apache.hadoop.mapred.ShuffleHandler"
	}
	return m
}

func hdfsSite(dir string, p ports) map[string]string {
	return map[string]string{
		"dfs.replication":                                      "1",
		"dfs.permissions.enabled":                              "false",
		"dfs.blocksize":                                        "1048576",
		"dfs.namenode.fs-limits.min-block-size":                "65536",
		"dfs.namenode.name.dir":                                "file://" + filepath.Join(dir, "nn"),
		"dfs.namenode.rpc-address":                             p.at("namenode-rpc"),
		"dfs.namenode.http-address":                            p.at("namenode-web"),
		"dfs.namenode.datanode.registration.ip-hostname-check": "false",
		"dfs.namenode.safemode.extension":                      "0",
		"dfs.client.use.datanode.hostname":                     "true",
		"dfs.datanode.use.datanode.hostname":                   "true",
		"dfs.datanode.hostname":                                hostHere,
		"dfs.datanode.data.dir":                                "file://" + filepath.Join(dir, "dn-"+hostHere),
		"dfs.datanode.address":                                 p.here("datanode"),
		"dfs.datanode.http.address":                            p.here("datanode-web"),
		"dfs.datanode.ipc.address":                             p.here("datanode-ipc"),
	}
}

func mapredSite(dir, lib string, p ports) map[string]string {
	const small = " -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
	return map[string]string{
		"mapreduce.framework.name":                   "yarn",
		"mapreduce.application.classpath":            filepath.Join(dir, "conf") + "," + filepath.Join(lib, "*"),
		"mapreduce.jobhistory.address":               p.at("history-rpc"),
		"mapreduce.jobhistory.admin.address":         p.at("history-admin"),
		"mapreduce.jobhistory.webapp.address":        p.at("history-web"),
		"mapreduce.jobhistory.intermediate-done-dir": "/history/tmp",
		"mapreduce.jobhistory.done-dir":              "/history/done",
		"mapreduce.jobhistory.move.interval-ms":      "1000",
		"yarn.app.mapreduce.am.staging-dir":          "/staging",
		"mapreduce.shuffle.port":                     "0", // the handler binds every address: one port cannot serve several nodes
		"mapreduce.job.ubertask.enable":              "false",
		"yarn.app.mapreduce.am.resource.mb":          "512",
		"yarn.app.mapreduce.am.command-opts":         "-Xmx256m" + small,
		"mapreduce.map.memory.mb":                    "256",
		"mapreduce.reduce.memory.mb":                 "256",
		"mapreduce.map.java.opts":                    "-Xmx96m" + small,
		"mapreduce.reduce.java.opts":                 "-Xmx96m" + small,
		"mapreduce.task.io.sort.mb":                  "10",
	}
}

// xmlText writes settings as Hadoop reads them, in the order of their names.
func xmlText(m map[string]string) string {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString("  <property><name>")
		_ = xml.EscapeText(&b, []byte(k)) // a Buffer takes everything
		b.WriteString("</name><value>")
		_ = xml.EscapeText(&b, []byte(m[k]))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.String()
}
