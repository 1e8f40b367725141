package jhist

import (
	"bytes"
	"fmt"
	"html"
	"io"
)

// MaxConf is the max size of a job configuration.
const MaxConf = 16 << 20

// ReadConf extracts some settings from a job's configuration (job_..._conf.xml, beside its history file). Such a file holds
// all of Hadoop's settings, some 200 KB; searching for the few names takes a tenth of the time of a full XML parser. It is
// exact for what Configuration.writeXml writes.
func ReadConf(r io.Reader, wanted func(name string) bool) (map[string]string, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxConf+1))
	if err != nil {
		return nil, fmt.Errorf("job configuration: %w", err)
	}
	if len(data) > MaxConf {
		return nil, fmt.Errorf("job configuration: more than %d bytes", MaxConf)
	}
	out := map[string]string{}
	rest := data
	for {
		name, after, ok := element(rest, "name")
		if !ok {
			break
		}
		rest = after
		key := html.UnescapeString(string(name))
		if !wanted(key) {
			continue
		}
		end := bytes.Index(rest, []byte("</property>"))
		if end < 0 {
			end = len(rest)
		}
		if value, _, ok := element(rest[:end], "value"); ok {
			out[key] = html.UnescapeString(string(value))
		}
	}
	if !bytes.Contains(data[max(0, len(data)-200):], []byte("</configuration>")) {
		return nil, fmt.Errorf("job configuration: it is cut off, or no Hadoop configuration")
	}
	return out, nil
}

// element returns the content of the first <tag> of b, and what follows it.
func element(b []byte, tag string) (in, after []byte, ok bool) {
	_, b, ok = bytes.Cut(b, []byte("<"+tag+">"))
	if !ok {
		return nil, nil, false
	}
	return bytes.Cut(b, []byte("</"+tag+">"))
}
