package history_test

import (
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/kube/lab"
)

// TestRecord writes workload/kube/testdata/cluster.json.gz anew, into the file that YARDMASTER_RECORD names: what kubectl shows of a cluster of four nodes on which
// three teams ran 80 Jobs within four minutes, their lengths with a heavy tail.
func TestRecord(t *testing.T) {
	path := os.Getenv("YARDMASTER_RECORD")
	if path == "" {
		t.Skip("YARDMASTER_RECORD names no file")
	}
	c := start(t)
	kubelet := &lab.Kubelet{}
	kubelet.Run(t, c.Lab)
	for _, zone := range []string{"a", "b"} {
		kubelet.Nodes(t, 2, "node-"+zone, map[string]string{"topology.kubernetes.io/zone": zone}, "cpu", "4", "memory", "16Gi")
	}
	teams := []string{"etl", "research", "adhoc"}
	c.namespaces(teams...)
	r := rand.New(rand.NewPCG(1, 2))
	const jobs = 80
	for i := range jobs {
		team := teams[r.IntN(len(teams))]
		pods := int32(1 + r.IntN(3))
		if team == "etl" {
			pods = int32(4 + r.IntN(20))
		}
		length := min(2/math.Pow(r.Float64(), 0.9), 60)
		c.job(team, fmt.Sprintf("%s-%02d", team, i), pods, lab.Pod("", "900m", "2Gi", time.Duration(length*float64(time.Second))))
		time.Sleep(time.Duration(r.ExpFloat64() * 3 * float64(time.Second)))
	}
	c.over(jobs, 10*time.Minute)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(c.Kubectl(t, "get", "jobs,pods,nodes", "-A", "-o", "json"))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
