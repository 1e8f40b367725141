package hadoop

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

var (
	//go:embed files/capacity-scheduler.xml
	capacityXML string
	//go:embed files/fair-scheduler.xml
	fairXML string
	//go:embed files/log4j.properties
	log4j string
	//go:embed files/site.conf
	siteText string
	//go:embed files/zoo.cfg
	zooKeeperText string

	// TwoQueues is a capacity-scheduler.xml with the queues prod and batch, which nobody administers but who administers YARN.
	//go:embed files/two-queues.xml
	TwoQueues string
)

const (
	hostVariable = "YARDMASTER_HOST" // carries a daemon's address; Configuration puts it in where the settings name it
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
	class := rmPackage + "scheduler.capacity.CapacityScheduler"
	if o.Scheduler == "fair" {
		class = rmPackage + "scheduler.fair.FairScheduler"
	}
	site, err := Settings(siteText, struct {
		Options
		ports
		Dir, Lib, Class, User string
	}{o, p, dir, lib, class, userName()})
	if err != nil {
		return err
	}
	over, err := Settings(o.Over, struct {
		ports
		With any
	}{p, o.With})
	if err != nil {
		return err
	}
	files := map[string]string{"log4j.properties": log4j + loggers.String(), "topology.table": table.String()}
	for name, more := range map[string]map[string]string{"core-site.xml": o.Core, "yarn-site.xml": o.Site, "hdfs-site.xml": o.HDFSSite, "mapred-site.xml": o.Mapred} {
		maps.Copy(site[name], over[name])
		maps.Copy(site[name], more)
		files[name] = Properties("", site[name])
	}
	files[o.Scheduler+"-scheduler.xml"] = o.SchedulerXML
	// Maven's hadoop-hdfs has no web pages, and its daemons do not start without the folders. Their REST is not in there.
	for _, w := range []string{"hdfs", "datanode", "secondary"} {
		files["webapps/"+w+"/WEB-INF/web.xml"] = `<web-app version="2.4" xmlns="http://java.sun.com/xml/ns/j2ee"/>` + "\n"
	}
	return WriteFiles(conf, files)
}

// WriteFiles writes files of a folder.
func WriteFiles(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("writing the lab's configuration: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the lab's configuration: %w", err)
		}
	}
	return nil
}

// Settings executes a template and answers its settings by file: "[FILE]" begins a file, any other line is a name and a value.
func Settings(text string, data any) (map[string]map[string]string, error) {
	t, err := template.New("settings").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	all, file := map[string]map[string]string{}, ""
	for line := range strings.Lines(b.String()) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch {
		case name == "" || name[0] == '#':
		case name[0] == '[':
			file = strings.Trim(name, "[]")
			all[file] = map[string]string{}
		default:
			all[file][name] = value
		}
	}
	return all, nil
}

// Properties writes settings as Hadoop reads them, in the order of their names, which begin with prefix.
func Properties(prefix string, m map[string]string) string {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString("  <property><name>")
		_ = xml.EscapeText(&b, []byte(prefix+k)) // a Buffer takes everything
		b.WriteString("</name><value>")
		_ = xml.EscapeText(&b, []byte(m[k]))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

// portNames has every port that a configuration names. Nodes use the same number on different addresses.
var portNames = []string{"rm-client", "rm-scheduler", "rm-tracker", "rm-admin", "rm-web", "nm", "nm-localizer", "nm-web",
	"nm-collector", "namenode-rpc", "namenode-web", "datanode", "datanode-web", "datanode-ipc", "history-rpc", "history-admin",
	"history-web", "timeline-rpc", "timeline-web"}

type ports map[string]int

// freePorts asks the kernel for as many ports as there are names, each free on every address, all different.
func freePorts(more ...string) (ports, error) {
	names := slices.Concat(portNames, more)
	list, err := Ports(len(names))
	p := ports{}
	for i := range list {
		p[names[i]] = list[i]
	}
	return p, err
}

// Ports asks the kernel for n different ports that are free on every address.
func Ports(n int) ([]int, error) {
	var list []int
	for range n {
		l, err := net.Listen("tcp4", "0.0.0.0:0")
		if err != nil {
			return nil, fmt.Errorf("asking for a free port: %w", err)
		}
		defer func() { _ = l.Close() }() // all are held until the last is found
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return list, nil
}

// At is a port of the master's address, Local the same by its name, as Kerberos needs it, Here one of whichever node reads it.
func (p ports) At(name string) string    { return net.JoinHostPort(master, strconv.Itoa(p[name])) }
func (p ports) Local(name string) string { return "localhost:" + strconv.Itoa(p[name]) }
func (p ports) Here(name string) string {
	return "${env." + hostVariable + ":-" + master + "}:" + strconv.Itoa(p[name])
}
