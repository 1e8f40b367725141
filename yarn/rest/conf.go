package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Conf reads the configuration that the ResourceManager runs with: yarn-site.xml and core-site.xml with Hadoop's defaults.
func (c *Client) Conf(ctx context.Context) (*conf.Properties, error) {
	return c.properties(ctx, confCall(c.rm), "the ResourceManager's configuration")
}

// HistoryConf reads the configuration that the JobHistoryServer runs with.
func (c *Client) HistoryConf(ctx context.Context) (*conf.Properties, error) {
	k := confCall(c.history)
	k.what = "read the history server's configuration"
	return c.properties(ctx, k, "the history server's configuration")
}

func confCall(s *server) *call {
	return &call{what: "read the ResourceManager's configuration", server: s, path: "/conf", accept: "application/xml, application/json;q=0.5"}
}

// managers are the web addresses of the ResourceManagers of an HA pair, by their configuration.
func managers(p *conf.Properties, scheme string) []*url.URL {
	text := func(name string) string {
		if x := p.Get("yarn.resourcemanager." + name); x != nil {
			return x.Value
		}
		return ""
	}
	key, port := "webapp.address.", "8088"
	if scheme == "https" {
		key, port = "webapp.https.address.", "8090"
	}
	var list []*url.URL
	for id := range strings.SplitSeq(text("ha.rm-ids"), ",") {
		id = strings.TrimSpace(id)
		host := text(key + id)
		if host == "" && text("hostname."+id) != "" {
			host = net.JoinHostPort(text("hostname."+id), port)
		}
		u, err := address(scheme + "://" + host)
		if err != nil || net.ParseIP(u.Hostname()).IsUnspecified() { // a wildcard: not an address to connect to
			continue
		}
		list = append(list, u)
	}
	return list
}

// SchedulerConf reads the CapacityScheduler's settings in force. Only an administrator may, and only a
// ResourceManager whose yarn.scheduler.configuration.store.class is not "file" supports it (others: ErrRefused).
func (c *Client) SchedulerConf(ctx context.Context) (*conf.Properties, error) {
	k := &call{what: "read the scheduler's configuration", server: c.rm, path: cluster + "/scheduler-conf"}
	return c.properties(ctx, k, "the scheduler's configuration")
}

// SchedulerConfVersion counts the changes to the scheduler's settings; a lower number means that changes were lost. A write with an
// unknown outcome must be read back by its values: with the zk store it may be in force without having been counted.
func (c *Client) SchedulerConfVersion(ctx context.Context) (int64, error) {
	type version struct {
		ID int64 `json:"versionID"`
	}
	k := &call{what: "read the version of the scheduler's configuration", server: c.rm, path: cluster + "/scheduler-conf/version"}
	return parse(ctx, c, k, func(data []byte) (int64, error) {
		var v struct {
			version
			Wrapped version `json:"configversion"` // since 3.5
		}
		err := decodeWhole(data, &v)
		if err == nil {
			err = decodeWhole(data, &v.version)
		}
		if err == nil && v.ID == 0 && v.Wrapped.ID == 0 {
			err = malformed("the answer has no \"versionID\"")
		}
		return max(v.ID, v.Wrapped.ID), err
	})
}

func (c *Client) properties(ctx context.Context, k *call, name string) (*conf.Properties, error) {
	return parse(ctx, c, k, func(data []byte) (*conf.Properties, error) { return readProperties(data, name) })
}

// readProperties parses a configuration in any of the formats of Hadoop's servers: XML; JSON of /conf
// ("properties" with keys), of scheduler-conf ("property" with names), and of a job (the same inside "conf").
func readProperties(data []byte, name string) (*conf.Properties, error) {
	text := bytes.TrimSpace(data)
	if bytes.HasPrefix(text, []byte("<")) {
		p, err := conf.ReadProperties(bytes.NewReader(text), name)
		if err != nil {
			return nil, malformed("%s", short(err.Error(), 300))
		}
		return p, nil
	}
	type pair struct {
		Name  string `json:"name"`
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	type pairs struct {
		Property   []pair `json:"property"`
		Properties []pair `json:"properties"`
	}
	var x struct {
		Conf pairs `json:"conf"`
		pairs
	}
	if err := decodeWhole(text, &x.pairs); err != nil {
		return nil, err
	}
	if err := decodeWhole(text, &x); err != nil {
		return nil, err
	}
	var list []conf.Property
	for _, p := range slices.Concat(x.Property, x.Properties, x.Conf.Property, x.Conf.Properties) {
		if p.Name = cmp.Or(p.Name, p.Key); p.Name != "" {
			list = append(list, conf.Property{Name: p.Name, Value: p.Value})
		}
	}
	if len(list) == 0 && !isObject(text) {
		return nil, malformed("no configuration: %s", short(string(text), 100))
	}
	var b bytes.Buffer
	if err := conf.WriteProperties(&b, list); err != nil {
		return nil, err
	}
	return readProperties(b.Bytes(), name)
}

func isObject(text []byte) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(text, &m) == nil
}
