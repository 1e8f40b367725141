package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/kube"
)

// What a real Prometheus has of a real kube-state-metrics is imported as what was run. CI has neither: YARDMASTER_PROMETHEUS names a folder with both programs.
func TestPrometheus(t *testing.T) {
	programs := os.Getenv("YARDMASTER_PROMETHEUS")
	if programs == "" {
		t.Skip("YARDMASTER_PROMETHEUS names no folder")
	}
	c := start(t)
	kubelet := &lab.Kubelet{StartUp: time.Second}
	kubelet.Run(t, c.Lab)
	kubelet.Nodes(t, 2, "n", map[string]string{"topology.kubernetes.io/zone": "a"}, "cpu", "8", "memory", "16Gi", "nvidia.com/gpu", "2")
	metrics, self, web := port(t), port(t), port(t)
	c.Run(t, "kube-state-metrics", filepath.Join(programs, "kube-state-metrics"), "--kubeconfig="+c.Kubeconfig, "--host=127.0.0.1", "--port="+metrics,
		"--telemetry-host=127.0.0.1", "--telemetry-port="+self, "--resources=pods,nodes",
		"--metric-labels-allowlist=pods=[yardmaster.io/class,yardmaster.io/stage],nodes=[topology.kubernetes.io/zone]")
	config := filepath.Join(t.TempDir(), "prometheus.yaml")
	text := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: kube-state-metrics, honor_labels: true, static_configs: [{targets: ['127.0.0.1:%s']}]}]\n", metrics)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Run(t, "prometheus", filepath.Join(programs, "prometheus"), "--config.file="+config, "--storage.tsdb.path="+t.TempDir(), "--web.listen-address=127.0.0.1:"+web)
	begun := time.Now()
	c.namespaces("etl")
	c.job("etl", "two", 2, lab.Pod("", "500m", "1Gi", 3*time.Second), func(j *batchv1.Job) {
		j.Spec.Template.Labels = map[string]string{"yardmaster.io/class": "nightly", "yardmaster.io/stage": "load"}
	})
	failing := lab.Pod("", "2", "100Mi", 2*time.Second)
	failing.Annotations[lab.Exit] = "1"
	c.job("etl", "fails", 1, failing)
	c.job("etl", "runs", 1, lab.Pod("", "1", "1Gi", 0))
	service := lab.Pod("service", "1", "1Gi", 0)
	service.Spec.RestartPolicy = "Always"
	c.pod("etl", service)
	c.over(2, time.Minute)
	s, err := kube.NewServer("http://127.0.0.1:"+web, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var h *kube.History
	lab.Eventually(t, time.Minute, "Prometheus has all", func() bool {
		time.Sleep(time.Second)
		h = history(t, "gpu", "nvidia.com/gpu")
		err := h.Metrics(t.Context(), s, begun.Add(-time.Hour), time.Now(), 20*time.Minute, func(int) {})
		if err != nil {
			t.Log(err)
			return false
		}
		jobs, _ := h.Jobs(false)
		return len(jobs) == 2
	})
	jobs, notes := h.Jobs(false)
	t.Log(notes)
	if j := find(jobs, "etl/two"); j.Tasks() != 2 || j.Class != "nightly" || j.Stages[0].Name != "load" || j.Stages[0].Ask != (unit.Resources{Mem: 1024, Cores: 500, Extra: unit.Named(unit.Pods, 1)}) ||
		j.Stages[0].Length.Values[0] < 2*unit.Second || j.Stages[0].Length.Values[0] > 5*unit.Second {
		t.Errorf("%+v %+v", j, j.Stages)
	}
	if j := find(jobs, "etl/fails"); j.Tasks() != 1 || j.Observed.Outcome != "FAILED" {
		t.Errorf("%+v %+v", j, j.Observed)
	}
	if room, away := h.Cluster(); away != 0 || room.String() != "2 nodes in 1 rack, 31 GiB and 15 CPU, 4 nvidia.com/gpu, 219 pods" || room.Racks[0] != "a" {
		t.Errorf("%v, %d away", room, away)
	}
}

func port(t *testing.T) string {
	t.Helper()
	p, err := lab.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(p)
}
