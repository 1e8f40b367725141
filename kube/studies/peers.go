package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/kube/lab"
)

// peers are the other systems that YARDMASTER_PEERS has; peers.sh makes the folder. They are set up as their documentation says, with a queue per team and an equal
// share for each where they share fairly. Nothing that runs is evicted: that is their default. Two settings differ from the defaults, in their favour: no limit of
// requests worth the name, and 100 ms in place of a second where one looks for work periodically, since the workloads' time is scaled down.
func peers() (all []*system) {
	for _, s := range []*system{
		{name: "kueue", stock: true, start: startKueue, job: kueueJob},
		{name: "yunikorn", start: startYuniKorn, job: yuniKornJob},
		{name: "volcano", start: startVolcano, job: volcanoJob},
	} {
		if _, err := os.Stat(peer(s.name)); err == nil {
			all = append(all, s)
		}
	}
	return all
}

func peer(name string) string { return filepath.Join(os.Getenv("YARDMASTER_PEERS"), name) }

// startKueue installs Kueue from its own kustomization. It admits whole Jobs: a queue has an equal part of the cluster as its quota, and borrows what others leave, which is
// shared fairly.
func startKueue(t testing.TB, l *lab.Lab, c site) {
	certs := t.TempDir()
	hooks, err := lab.FreePort()
	check(t, err)
	health, err := lab.FreePort()
	check(t, err)
	manifests := l.Kubectl(t, "kustomize", peer("kueue-config/default"))
	apply(t, l, "kueue-install", regexp.MustCompile(`(?m)^( +)path: /(convert|mutate|validate)`).ReplaceAllString(manifests, fmt.Sprint("${1}port: ", hooks, "\n$0")))
	// Its service leads to the program, which runs beside the cluster, and there is no server of an aggregated API.
	l.Kubectl(t, "patch", "service", "-n", "kueue-system", "kueue-webhook-service", "--type=merge",
		"-p", `{"spec": {"type": "ExternalName", "externalName": "localhost", "clusterIP": null, "clusterIPs": null}}`)
	l.Kubectl(t, "delete", "apiservice", "-l", "app.kubernetes.io/name=kueue")
	config := filepath.Join(certs, "config.yaml")
	check(t, os.WriteFile(config, fmt.Appendf(nil, `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
leaderElection: {leaderElect: false}
controller:
  groupKindConcurrency: {Job.batch: 5, Workload.kueue.x-k8s.io: 10, LocalQueue.kueue.x-k8s.io: 5, ClusterQueue.kueue.x-k8s.io: 5}
clientConnection: {qps: 10000, burst: 10000}
integrations: {frameworks: [batch/job]}
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}
`, health, hooks, certs), 0o600))
	l.Run(t, "kueue", peer("kueue"), "--kubeconfig="+l.Kubeconfig, "--config="+config, "--feature-gates=VisibilityOnDemand=false")
	lab.Eventually(t, time.Minute, "Kueue has made its certificate", func() bool { // a kubelet would mount it
		s, err := l.Client.CoreV1().Secrets("kueue-system").Get(t.Context(), "kueue-webhook-server-cert", metav1.GetOptions{})
		for _, name := range []string{"tls.key", "tls.crt"} {
			if err != nil || len(s.Data[name]) == 0 || os.WriteFile(filepath.Join(certs, name), s.Data[name], 0o600) != nil {
				return false
			}
		}
		return true
	})
	lab.Eventually(t, time.Minute, "Kueue is ready", func() bool {
		r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", health))
		if err != nil {
			return false
		}
		return r.Body.Close() == nil && r.StatusCode == http.StatusOK
	})
	queues := "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: default}}\n"
	for _, team := range teams {
		queues += fmt.Sprintf(`---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[1]s}
spec:
  cohortName: all
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: %[2]dm}, {name: memory, nominalQuota: %[3]dMi}]}]
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: jobs, namespace: %[1]s}, spec: {clusterQueue: %[1]s}}
`, team, c.Nodes*c.CPU*1000/len(teams), c.Nodes*c.CPU*2048/len(teams))
	}
	apply(t, l, "kueue-queues", queues)
	l.Kubectl(t, "wait", "clusterqueue", "--all", "--for=condition=Active", "--timeout=60s")
}

// kueueJob is suspended until it is admitted, with all its pods at once. No more of them run at a time than the cluster has room for, since it would never be otherwise.
func kueueJob(c site, j *job, o *batchv1.Job) {
	o.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "jobs"}
	o.Spec.Suspend = new(true)
	o.Spec.Parallelism = new(int32(min(len(j.Lengths), c.Nodes*c.CPU)))
}

// startYuniKorn runs YuniKorn: queues share fairly, and each is first in, first out.
func startYuniKorn(t testing.TB, l *lab.Lab, c site) {
	apply(t, l, "yunikorn-config", `
{apiVersion: v1, kind: Namespace, metadata: {name: yunikorn}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: yunikorn-configs, namespace: yunikorn}
data:
  service.schedulingInterval: 100ms
  kubernetes.qps: "10000"
  kubernetes.burst: "10000"
  queues.yaml: |
    partitions:
    - name: default
      queues:
      - name: root
        submitacl: '*'
        queues: [{name: `+strings.Join(teams, "}, {name: ")+"}]\n")
	l.Run(t, "yunikorn", "/usr/bin/env", "KUBECONFIG="+l.Kubeconfig, "NAMESPACE=yunikorn", peer("yunikorn"))
	lab.Eventually(t, time.Minute, "YuniKorn knows the nodes", func() bool {
		events, err := l.Client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=NodeAccepted"})
		return err == nil && len(events.Items) >= c.Nodes
	})
}

func yuniKornJob(_ site, j *job, o *batchv1.Job) {
	o.Spec.Template.Spec.SchedulerName = "yunikorn"
	o.Spec.Template.Labels["yunikorn.apache.org/app-id"] = j.Team + "-" + j.Name
	o.Spec.Template.Labels["yunikorn.apache.org/queue"] = "root." + j.Team
}

// startVolcano runs Volcano with the configuration that it is installed with: queues share by weight, and so do the jobs of a queue.
func startVolcano(t testing.TB, l *lab.Lab, _ site) {
	l.Kubectl(t, "create", "namespace", "volcano-system")
	l.Kubectl(t, "apply", "--server-side", "-f", peer("volcano-config"))
	l.Kubectl(t, "wait", "crd", "--all", "--for=condition=Established", "--timeout=60s")
	flags := []string{"--kubeconfig=" + l.Kubeconfig, "--leader-elect=false", "--kube-api-qps=10000", "--kube-api-burst=10000"}
	l.Run(t, "volcano-controller", peer("volcano-controller"), flags...)
	l.Run(t, "volcano", peer("volcano"), append(flags, "--scheduler-conf="+peer("volcano-config/volcano-scheduler.conf"), "--schedule-period=100ms", "-v=2")...)
	var queues string
	for _, team := range teams {
		queues += fmt.Sprintf("---\n{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s}, spec: {weight: 1}}\n", team)
	}
	apply(t, l, "volcano-queues", queues)
	l.Kubectl(t, "wait", "queues.scheduling.volcano.sh", "--all", "--for=jsonpath={.status.state}=Open", "--timeout=60s")
	lab.Eventually(t, time.Minute, "Volcano's scheduler runs", func() bool {
		log, err := os.ReadFile(filepath.Join(l.Dir, "volcano.log"))
		return err == nil && strings.Contains(string(log), "completes Initialization")
	})
}

func volcanoJob(_ site, j *job, o *batchv1.Job) {
	o.Spec.Template.Spec.SchedulerName = "volcano"
	o.Spec.Template.Annotations["scheduling.volcano.sh/queue-name"] = j.Team
}

// apply gives the API server manifests, which stay with the logs.
func apply(t testing.TB, l *lab.Lab, name, manifests string) {
	t.Helper()
	file := filepath.Join(l.Dir, name+".yaml")
	check(t, os.WriteFile(file, []byte(manifests), 0o600))
	l.Kubectl(t, "apply", "--server-side", "-f", file)
}
