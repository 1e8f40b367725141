package modelfile

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/sim/node"
)

// TestDefaultIsTheFile: the model in the code and its file say the same.
func TestDefaultIsTheFile(t *testing.T) {
	m, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	if want := mapreduce.MRPERF2010(); !reflect.DeepEqual(m, want) {
		t.Errorf("the file says\n%+v\nthe code\n%+v", m, want)
	}
	if !slices.Contains(Names(), Default) {
		t.Error(Names())
	}
}

func TestOwnFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	text := `
name: mine
version: 3
machine: {cpu: 3000MHz, cores: 4, disks: 2, memory: 6GB, disk: {read: 100MB/s, write: 80MB/s, read-seek: 8.2ms, efficiency: {falls: 0.5}}}
kinds:
  big: {cores: 32, efficiency: [1, 0.5], disk: {efficiency: [1, 0.8]}, space: {capacity: 1GB, filled: 1MB, healthy: 90%}}
  odd: {disk: {efficiency: {switches: 2}}, space: unlimited}
cycles: {map: 10}
nodes-per-machine: all
reduce: {copiers: 5, fetch: map, piece: 16MB}
cached: {map: 96%, reduce: 40%}
io-factor: 10
noise: {device: 0, reduce: 2.5%, run: 3%}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	d := m.Machine.Disk
	if m.Name != "mine" || m.Version != 3 || m.Machine.Hertz != 3e9 || m.Machine.Disks != 2 || m.Machine.Memory != 6<<30 || d.Read != 100<<20 ||
		d.ReadSeek != 0.0082 || d.Efficiency(3) != 0.5 {
		t.Errorf("%+v", m)
	}
	if big := m.Kinds["big"]; big.Cores != 32 || big.Hertz != 3e9 || big.Disk.Efficiency(9) != 0.8 || big.Disk.Read != d.Read ||
		big.Efficiency(2) != 0.5 || big.Space != (node.Space{Capacity: 1 << 30, Filled: 1 << 20, Healthy: 0.9}) {
		t.Errorf("%+v", big)
	}
	if odd := m.Kinds["odd"]; odd.Disk.Efficiency(2) != 0.5 || odd.Space != (node.Space{}) {
		t.Errorf("%+v", odd)
	}
	if m.PerMachine != mapreduce.MaxPerMachine || m.ReducePiece != 16<<20 || m.Cached != (mapreduce.Cached{Map: 0.96, Reduce: 0.4}) || m.RunNoise != math.Log(1.03) {
		t.Errorf("%+v", m)
	}
	if m.MapCycles != 10 || m.SortCycles != 44 || m.Copiers != 5 || m.Fetch != mapreduce.ByMap || m.IOFactor != 10 || m.Noise != 0 {
		t.Errorf("%+v", m)
	}
	if _, err := mapreduce.New(m); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	const head = "name: x\nversion: 1\n"
	for _, c := range []struct{ text, want string }{
		{"", "m.yaml:1:1: describes no model"},
		{"name: x\n", "m.yaml:1:1: a model needs a version"},
		{"name: a b\nversion: 1\n", "m.yaml:1:7: a name is made of"},
		{"name: x\nversion: 0\n", "m.yaml:2:10: 0 is not between 1"},
		{head + "cyles: {}\n", `m.yaml:3:1: a model file has no key "cyles"; did you mean "cycles"?`},
		{head + "cycles: {maps: 3}\n", `m.yaml:3:10: cycles has no key "maps"; did you mean "map"?`},
		{head + "cycles: {map: fast}\n", `m.yaml:3:15: "fast" is not a number`},
		{head + "cycles: {map: -1}\n", "m.yaml:3:15: -1 is not between 0"},
		{head + "machine: {cpu: quick}\n", `m.yaml:3:16: "quick" is not the clock`},
		{head + "machine: {disk: {read: 280MB}}\n", `m.yaml:3:24: "280MB" is not a rate: write 280MB/s`},
		{head + "machine: {disk: {read: 0MB/s}}\n", "m.yaml:3:24: a disk that moves nothing"},
		{head + "machine: {disk: {efficiency: 2}}\n", "m.yaml:3:30: 2 is not between"},
		{head + "machine: {disk: {efficiency: []}}\n", "m.yaml:3:30: a list of efficiencies"},
		{head + "machine: {disk: {read-seek: 2h}}\n", "m.yaml:3:29: a seek of"},
		{head + "machine: {disk: {efficiency: {falls: 1, switches: 1}}}\n", "m.yaml:3:30: an efficiency either falls or switches"},
		{head + "machine: {space: much}\n", `m.yaml:3:18: invalid disk space "much"`},
		{head + "machine: {space: {capacity: 1GB, filled: 2GB}}\n", "m.yaml:1:1: model x: 2.147483648e+09 of the 1.073741824e+09 bytes"},
		{head + "nodes-per-machine: few\n", `m.yaml:3:20: "few" is neither a whole number nor "all"`},
		{head + "reduce: {piece: 1B}\n", "m.yaml:3:17: 1 B is not between"},
		{head + "cached: {map: 101%}\n", "m.yaml:3:15: 101 is not between 0 and 100"},
		{head + "cached: {map: 0.5}\n", `m.yaml:3:15: "0.5" is not a percentage`},
		{head + "kinds: [a]\n", "m.yaml:3:8: kinds should be a mapping"},
		{head + "kinds:\n  big: {coers: 3}\n", `m.yaml:4:9: a machine has no key "coers"; did you mean "cores"?`},
		{head + "map: {buffer: 1KB}\n", "m.yaml:3:15: 1 KiB is not between"},
		{head + "reduce: {copiers: many}\n", `m.yaml:3:19: "many" is neither a whole number nor "nodes"`},
		{head + "reduce: {fetch: all}\n", `m.yaml:3:17: unknown way to fetch "all"`},
		{head + "io-factor: 1\n", "m.yaml:3:12: 1 is not between 2"},
		{head + "noise: {device: 10}\n", `m.yaml:3:17: "10" is not a percentage`},
		{head + "noise: {device: 900%}\n", "m.yaml:3:17: 900 is not between"},
	} {
		if _, err := Parse("m.yaml", []byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := Open("mrperf-2011"); err == nil || !strings.Contains(err.Error(), `did you mean "mrperf-2010"?`) {
		t.Error(err)
	}
	if _, err := Text("nothing"); err == nil {
		t.Error("a model that is not there has a text")
	}
}

func FuzzParse(f *testing.F) {
	text, err := Text(Default)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(text))
	f.Add([]byte("name: x\nversion: 1\nkinds:\n  big: {cores: 3, disk: {efficiency: [1, 0.5]}}\nreduce: {copiers: 3}\n"))
	f.Add([]byte("name: x\nversion: 1\nmachine: {cpu: 1e400GHz, disk: {read: 1e300MB/s, efficiency: {falls: .inf}}}\nnoise: {device: nan%}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		m, err := Parse("m.yaml", data)
		if err == nil {
			if _, err := mapreduce.New(m); err != nil {
				t.Fatalf("took an impossible model: %v", err)
			}
		}
	})
}
