package sls

import (
	"bytes"
	_ "embed"
	"maps"
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/lab/hadoop"
)

var (
	//go:embed sls.conf
	settings string
	// log4j writes our events and the lives of containers to a file with milliseconds since the start of the JVM, and warnings
	// of everything else to the console.
	//go:embed log4j.properties
	log4j []byte
)

// write writes everything that the JVM reads.
func (o *Options) write() error {
	for _, d := range []string{"conf", "tmp", "out"} {
		if err := os.MkdirAll(filepath.Join(o.Dir, d), 0o755); err != nil {
			return err
		}
	}
	site, err := hadoop.Settings(settings, struct {
		*Options
		Pool int
	}{o, min(10+o.nodes()/10, 60)})
	if err != nil {
		return err
	}
	maps.Copy(site["yarn-site.xml"], o.Site)
	files := map[string][]byte{"conf/log4j.properties": log4j, "conf/capacity-scheduler.xml": o.Capacity}
	if o.Fair != nil {
		files = map[string][]byte{"conf/log4j.properties": log4j, "conf/fair-scheduler.xml": o.Fair}
	}
	for name, m := range site {
		files["conf/"+name] = []byte(hadoop.Properties("", m))
	}
	var trace, nodes bytes.Buffer
	if err := WriteTrace(&trace, o.Jobs); err != nil {
		return err
	}
	if err := WriteNodes(&nodes, o.Racks); err != nil {
		return err
	}
	files["trace.json"], files["nodes.json"] = trace.Bytes(), nodes.Bytes()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(o.Dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// nodes counts the nodes.
func (o *Options) nodes() (n int) {
	for i := range o.Racks {
		n += len(o.Racks[i].Nodes)
	}
	return n
}
