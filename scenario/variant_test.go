package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const threeQueues = `<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>etl,adhoc,science</value></property>
  <property><name>yarn.scheduler.capacity.root.etl.capacity</name><value>60</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.capacity</name><value>27</value></property>
  <property><name>yarn.scheduler.capacity.root.science.capacity</name><value>13</value></property>
</configuration>
`

func variantBase(t *testing.T) *Setup {
	t.Helper()
	file := filepath.Join(t.TempDir(), "capacity-scheduler.xml")
	if err := os.WriteFile(file, []byte(threeQueues), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Default()
	s.Workload, s.Cluster, s.Schedulers = []string{"synth:demo"}, "40x8/4", []string{file}
	base, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func TestVariants(t *testing.T) {
	base := variantBase(t)
	for _, c := range []struct {
		text, name        string
		workload, cluster bool // shared with the base
		touched, changed  []string
		wantErr           string
		wantCommand       string
	}{
		{text: "more etl: root.etl.capacity=70 root.adhoc.capacity=17", name: "more etl", workload: true, cluster: true,
			touched: []string{"queue root.etl", "queue root.adhoc"}, changed: []string{"set=root.adhoc.capacity=17", "set=root.etl.capacity=70"},
			wantCommand: "--set root.etl.capacity=70 --set root.adhoc.capacity=17"},
		{text: "20 % more load: scale-load=1.2", name: "20 % more load", cluster: true, changed: []string{"scale-load=1.2"}, wantCommand: "--scale-load 1.2"},
		{text: "cluster=50x8/4", name: "cluster=50x8/4", workload: true, wantCommand: "--cluster 50x8/4"},
		{text: "end-on-beat heartbeat=3s", name: "end-on-beat heartbeat=3s", workload: true, cluster: true, changed: []string{"end-on-beat=true", "heartbeat=3s"}},
		{text: "a: root.etl.capacity=70", wantErr: `variant "a": the capacities below root add up to 110, not to 100: scale root.adhoc and root.science to 20.3 and 9.7?`},
		{text: "a: root.ettl.capacity=70", wantErr: `did you mean "root.etl"?`},
		{text: "a: scale-laod=2", wantErr: `did you mean "scale-load"?`},
		{text: "a: heartbeat=soon", wantErr: `variant "a": heartbeat: `},
		{text: "a: heartbeat", wantErr: `write heartbeat=`},
		{text: "a: seeds=7", wantErr: "belongs to the whole comparison"},
		{text: "a: heartbeat=1s heartbeat=2s", wantErr: "given twice"},
		{text: "a: move user:ana", wantErr: "write move user:ana root.adhoc"},
		{text: "", wantErr: "has no change"},
	} {
		v, err := ParseVariant(c.text)
		var got *Setup
		if err == nil {
			if v.String() != c.text {
				t.Errorf("%q is written as %q", c.text, v)
			}
			got, err = base.Variant(v)
		}
		if err != nil || c.wantErr != "" {
			if c.wantErr == "" || err == nil || !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("%q: %v", c.text, err)
			}
			continue
		}
		var touched []string
		for kind, name := range got.Touched() {
			touched = append(touched, kind+" "+name)
		}
		if v.Name != c.name || !slices.Equal(touched, c.touched) || (got.Workload == base.Workload) != c.workload || (got.Cluster == base.Cluster) != c.cluster {
			t.Errorf("%q: %q touches %q; shares workload %v, cluster %v", c.text, v.Name, touched, got.Workload == base.Workload, got.Cluster == base.Cluster)
		}
		if changed := got.Scenario.Changed(); !slices.Equal(changed, append([]string{}, c.changed...)) {
			t.Errorf("%q changes %q", c.text, changed)
		}
		if command := got.Runs()[0].About(1).Command; !strings.Contains(command, c.wantCommand) {
			t.Errorf("%q: %s", c.text, command)
		}
	}
}

func TestVariantsInAFile(t *testing.T) {
	s, err := Parse("s.yaml", []byte("variant:\n  - \"more etl: root.etl.capacity=70 root.adhoc.capacity=17\"\n  - nodes\n"))
	if err == nil || !strings.Contains(err.Error(), "s.yaml:3") {
		t.Error(err)
	}
	s, err = Parse("s.yaml", []byte("variant:\n  - \"more etl: root.etl.capacity=70 root.adhoc.capacity=17\"\n  - scale-load=2\n"))
	if err != nil || len(s.Variants) != 2 {
		t.Fatal(s.Variants, err)
	}
	again, err := Parse("again.yaml", s.YAML())
	if err != nil || !slices.EqualFunc(again.Variants, s.Variants, func(a, b Variant) bool { return a.String() == b.String() }) {
		t.Error(string(s.YAML()), err)
	}
}

func TestEditsNeedAFile(t *testing.T) {
	s := Default()
	s.Workload, s.Cluster, s.Schedulers = []string{"synth:demo"}, "40x8/4", []string{"fifo"}
	v, err := ParseVariant("root.etl.capacity=70")
	if err == nil {
		s, err = s.With(v)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), "give --scheduler capacity-scheduler.xml") {
		t.Error(err)
	}
}
