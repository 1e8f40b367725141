package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	bridge = "10.88.0.1" // the node, in the network of its pods
	cni    = "/usr/lib/cni"
)

// Private runs a package's tests in namespaces of their own: network, mounts and processes. There [Lab.Node] works: pods reach the API server and are reached, and nothing of them
// stays. TestMain calls it first. It does nothing where a node cannot be; then [Lab.Node] skips the test.
func Private() {
	if os.Getenv(inside) != "" {
		if err := furnish(); err != nil {
			fmt.Fprintln(os.Stderr, "lab:", err)
			os.Exit(1)
		}
		return
	}
	if lacks() != "" {
		return
	}
	group := fmt.Sprint("yardmaster-lab-", os.Getpid())
	for _, parent := range hierarchies() {
		_ = os.Mkdir(filepath.Join(parent, group), 0o755) //nolint:gosec // as others are
	}
	self, _ := os.Executable()
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, append(os.Environ(), inside+"="+group)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	err := cmd.Run()
	for _, parent := range hierarchies() {
		var groups []string
		_ = filepath.WalkDir(filepath.Join(parent, group), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				groups = append(groups, path)
			}
			return nil
		})
		for _, path := range slices.Backward(groups) {
			_ = os.Remove(path)
		}
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		os.Exit(0)
	case !errors.As(err, &exit):
		fmt.Fprintln(os.Stderr, "lab:", err)
	}
	os.Exit(1)
}

// hierarchies are the folders in which control groups are made: one, or with the first version of control groups several.
func hierarchies() []string {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}
	}
	all, _ := filepath.Glob(root + "/*/cgroup.procs")
	for i := range all {
		all[i] = filepath.Dir(all[i])
	}
	return all
}

// lacks says what a real node needs and is not there.
func lacks() string {
	programs := []string{"containerd", "ctr", "runc", "ip", cni + "/bridge", filepath.Join(os.Getenv("YARDMASTER_KUBE"), "kubelet")}
	_ = os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			return p
		}
	}
	if os.Getuid() != 0 {
		return "root"
	}
	return ""
}

// furnish makes a network of the node and its pods in which the API server has its cluster address, and shadows what of the machine containers and the kubelet write.
func furnish() error {
	for _, args := range []string{"link set lo up", "addr add 10.0.0.1/32 dev lo", "link add cni0 address 0a:58:0a:58:00:01 type bridge", "addr add " + bridge + "/16 dev cni0", "link set cni0 up"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	err := syscall.Mount("proc", "/proc", "proc", 0, "")
	for _, name := range []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"} {
		file := filepath.Join("/proc/sys", name)
		text, err1 := os.ReadFile(file)
		shadow, err2 := os.CreateTemp("", "sysctl-")
		if err1 != nil || err2 != nil {
			return errors.Join(err1, err2)
		}
		_, err1 = shadow.Write(text)
		err = errors.Join(err, err1, shadow.Close(), syscall.Mount(shadow.Name(), file, "", syscall.MS_BIND, ""), os.Remove(shadow.Name()))
	}
	for _, dir := range []string{"/run", "/var/log"} {
		err = errors.Join(err, syscall.Mount("tmpfs", dir, "tmpfs", 0, ""))
	}
	return err
}

// Node adds a real node, with containerd and kubelet, that has these images (archives); pods are held together by the one named pause. It gives the address of containerd, for ctr.
// Where there cannot be one the test is skipped, in CI it fails. It needs all controllers, and [Private].
func (l *Lab) Node(t testing.TB, name, pause string, images ...string) string {
	t.Helper()
	if os.Getenv(inside) == "" {
		reason := fmt.Sprintf("a real node takes root, containerd, runc, the CNI plug-ins and kubelet (kube/build.sh); there is no %s", lacks())
		if os.Getenv("CI") == "true" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	dir := filepath.Join(l.Dir, name)
	socket := filepath.Join(dir, "containerd.sock")
	write := func(file, text string) string {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("net/10-bridge.conflist", `{"cniVersion": "0.4.0", "name": "bridge", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true,
		"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "`+dir+`/addresses"}}]}`)
	// A file system in memory: overlays do not lie on overlays.
	if err := errors.Join(os.MkdirAll(dir+"/root", 0o750), syscall.Mount("tmpfs", dir+"/root", "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir+"/root", syscall.MNT_DETACH) })
	config := write("containerd.toml", fmt.Sprintf(`version = 2
root = "%[1]s/root"
state = "%[1]s/state"
[grpc]
address = "%[2]s"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "%[3]s"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "%[4]s"
conf_dir = "%[1]s/net"
`, dir, socket, pause, cni))
	ctr := func(args ...string) error {
		out, err := exec.CommandContext(t.Context(), "ctr", append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	containerd := l.process(name+"-containerd", must(exec.LookPath("containerd"))(t), "--config="+config)
	containerd.ready = func(context.Context) error { return ctr("version") }
	err := containerd.Start()
	for _, image := range images {
		if err == nil {
			err = ctr("images", "import", image)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	settings := must(yaml.Marshal(map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "containerRuntimeEndpoint": "unix://" + socket, "address": bridge, "podLogsDir": dir + "/pods",
		"authentication": map[string]any{"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": false}, "x509": map[string]any{"clientCAFile": l.Dir + "/ca.crt"}},
		"authorization":  map[string]any{"mode": "AlwaysAllow"}, "cgroupDriver": "cgroupfs", "cgroupRoot": "/" + os.Getenv(inside), "failCgroupV1": false, "failSwapOn": false,
		"makeIPTablesUtilChains": false, "enforceNodeAllocatable": []string{}, "localStorageCapacityIsolation": false, "resolvConf": "", "imageGCHighThresholdPercent": 100,
		"evictionHard": map[string]string{"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"}, "nodeStatusUpdateFrequency": "5s",
	}))(t)
	l.Run(t, name+"-kubelet", filepath.Join(l.Programs, "kubelet"), "--config="+write("kubelet.yaml", string(settings)), "--kubeconfig="+l.Kubeconfig, "--root-dir="+dir+"/kubelet",
		"--cert-dir="+dir+"/certificates", "--hostname-override="+name, "--node-ip="+bridge)
	Eventually(t, time.Minute, "the node is ready", func() bool {
		node, err := l.Client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && len(node.Spec.Taints) == 0 && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	})
	return socket
}
