// Package lab runs a real Kubernetes for tests: etcd, kube-apiserver and, on request, kube-controller-manager and kube-scheduler, as processes of their own with
// TLS, RBAC and service accounts. Nothing of them is faked but the nodes: see [Kubelet].
//
// The programs come from the folder that YARDMASTER_KUBE names (kube/build.sh makes it). Without it tests skip, in CI they fail.
// The tests of a package share one control plane and take a namespace each:
//
//	func TestMain(m *testing.M) { lab.Main(m, lab.WithControllers("job")) }
//
//	func TestOrder(t *testing.T) {
//		l := lab.Shared(t)
//		namespace := l.Namespace(t)
package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Lab is a running control plane.
type Lab struct {
	// Etcd and API always run; Controllers and Scheduler are nil unless asked for. Each can be killed and started again.
	Etcd, API, Controllers, Scheduler *Process
	Dir                               string               // logs, keys, audit.log
	Config                            *rest.Config         // of an administrator
	Client                            kubernetes.Interface // likewise
	Kubeconfig                        string               // a file, likewise
	Programs                          string               // the folder of Kubernetes' programs

	authority     *authority
	processes     []*Process
	audit         bool
	api, kcm, sch []string // further flags
	controllers   bool
	scheduler     bool
}

// inside is set in tests that run in namespaces of their own, and names the control group of their node's pods.
const inside = "YARDMASTER_LAB_INSIDE"

// Option is one of the functions named With.
type Option func(*Lab)

// WithControllers runs kube-controller-manager with those controllers, by default all.
func WithControllers(names ...string) Option {
	return func(l *Lab) {
		l.controllers = true
		if len(names) > 0 {
			l.kcm = append(l.kcm, "--controllers="+strings.Join(names, ","))
		}
	}
}

// WithScheduler runs the stock kube-scheduler, without a limit of requests worth the name.
func WithScheduler(flags ...string) Option {
	return func(l *Lab) { l.scheduler, l.sch = true, append(l.sch, flags...) }
}

// WithAudit has the API server write every request, with its verb and user, to audit.log in the lab's folder.
func WithAudit() Option { return func(l *Lab) { l.audit = true } }

// WithAPIServer adds flags of kube-apiserver.
func WithAPIServer(flags ...string) Option { return func(l *Lab) { l.api = append(l.api, flags...) } }

var shared struct {
	sync.Mutex
	*Lab
	options []Option
	err     error
}

// Main runs a package's tests and ends what [Shared] started.
func Main(m *testing.M, options ...Option) {
	shared.options = options
	code := m.Run()
	if shared.Lab != nil {
		shared.stop(code != 0)
	}
	os.Exit(code)
}

// Shared is the control plane of the package's tests, started by the first that asks. The package's TestMain must call [Main].
func Shared(t testing.TB) *Lab {
	t.Helper()
	dir := Programs(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.Lab == nil && shared.err == nil {
		shared.Lab, shared.err = start(dir, shared.options)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.Lab
}

// Start runs a control plane for one test.
func Start(t testing.TB, options ...Option) *Lab {
	t.Helper()
	l, err := start(Programs(t), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.stop(t.Failed()) })
	return l
}

// Programs is the folder of Kubernetes' programs. Without one the test is skipped, in CI it fails.
func Programs(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("YARDMASTER_KUBE")
	switch {
	case dir != "":
	case os.Getenv("CI") == "true":
		t.Fatal("YARDMASTER_KUBE does not name the folder of Kubernetes' programs; kube/build.sh makes one")
	default:
		t.Skip("needs a real Kubernetes: kube/build.sh FOLDER, then YARDMASTER_KUBE=FOLDER")
	}
	return dir
}

func start(programs string, options []Option) (l *Lab, err error) {
	l = &Lab{Programs: programs}
	for _, o := range options {
		o(l)
	}
	if l.Dir, err = os.MkdirTemp("", "yardmaster-lab-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.stop(true)
			l, err = nil, fmt.Errorf("lab: %w", err)
		}
	}()
	file := func(name string) string { return filepath.Join(l.Dir, name) }
	if l.authority, err = newAuthority(l.Dir); err != nil {
		return l, err
	}
	// Sockets, since a port might be somebody else's. The addresses for other members are never used.
	socket, unused := "unix://"+file("etcd.sock"), "http://127.0.0.1:1"
	l.Etcd = l.process("etcd", filepath.Join(programs, "etcd"), "--data-dir="+file("etcd"), "--unsafe-no-fsync", "--listen-client-urls="+socket,
		"--listen-peer-urls=unix://"+file("peer.sock"), "--advertise-client-urls="+unused, "--initial-advertise-peer-urls="+unused, "--initial-cluster=default="+unused,
		"--quota-backend-bytes=8589934592", "--log-level=warn")
	port, err := FreePort()
	if err != nil {
		return l, err
	}
	// Without a node controller nobody would take the taint off a new node that TaintNodesByCondition puts on.
	address, without := "127.0.0.1", "ServiceAccount,TaintNodesByCondition"
	if os.Getenv(inside) != "" { // a network of its own, with pods that have accounts
		address, port, without = "0.0.0.0", 443, ""
	}
	flags := append([]string{"--etcd-servers=" + socket, "--bind-address=" + address, "--advertise-address=192.0.2.1", fmt.Sprint("--secure-port=", port),
		"--tls-cert-file=" + file("server.crt"), "--tls-private-key-file=" + file("server.key"), "--client-ca-file=" + file("ca.crt"),
		"--service-account-key-file=" + file("server.key"), "--service-account-signing-key-file=" + file("server.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/16", "--authorization-mode=RBAC",
		"--disable-admission-plugins=" + without, "--allow-privileged", "--enable-priority-and-fairness=false", "--max-requests-inflight=2000",
		"--max-mutating-requests-inflight=1000"}, l.api...)
	if l.audit {
		policy := `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`
		if err := os.WriteFile(file("audit.yaml"), []byte(policy), 0o600); err != nil {
			return l, err
		}
		flags = append(flags, "--audit-policy-file="+file("audit.yaml"), "--audit-log-path="+file("audit.log"))
	}
	l.API = l.process("kube-apiserver", filepath.Join(programs, "kube-apiserver"), flags...)
	l.Config = &rest.Config{Host: fmt.Sprint("https://127.0.0.1:", port)}
	if l.Config, err = l.user("admin", "system:masters"); err != nil {
		return l, err
	}
	if l.Client, err = kubernetes.NewForConfig(l.Config); err != nil {
		return l, err
	}
	l.API.ready = l.healthy
	if l.Kubeconfig, err = l.writeKubeconfig("admin", l.Config); err != nil {
		return l, err
	}
	if err := errors.Join(l.Etcd.Start(), l.API.Start()); err != nil {
		return l, err
	}
	as := "--kubeconfig=" + l.Kubeconfig
	if l.controllers {
		l.Controllers = l.process("kube-controller-manager", filepath.Join(programs, "kube-controller-manager"), append([]string{as, "--leader-elect=false",
			"--secure-port=0", "--service-account-private-key-file=" + file("server.key"), "--root-ca-file=" + file("ca.crt"), "--kube-api-qps=10000",
			"--kube-api-burst=10000", "--concurrent-job-syncs=20"}, l.kcm...)...)
		if err := l.Controllers.Start(); err != nil {
			return l, err
		}
	}
	if l.scheduler {
		l.Scheduler = l.process("kube-scheduler", filepath.Join(programs, "kube-scheduler"), append([]string{as, "--leader-elect=false", "--secure-port=0",
			"--kube-api-qps=10000", "--kube-api-burst=10000"}, l.sch...)...)
		return l, l.Scheduler.Start()
	}
	return l, nil
}

func (l *Lab) healthy(ctx context.Context) error {
	return l.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// FreePort is a port of the loopback interface that nobody listens on.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// stop ends everything, the youngest first. The folder with the logs stays if something failed.
func (l *Lab) stop(failed bool) {
	for i := len(l.processes) - 1; i >= 0; i-- {
		l.processes[i].Kill()
	}
	if failed {
		fmt.Fprintln(os.Stderr, "the control plane's logs:", l.Dir)
		return
	}
	_ = os.RemoveAll(l.Dir)
}

// User is the access of somebody who has proved this name and these groups by a certificate, as the cluster's administrator hands them out.
func (l *Lab) User(t testing.TB, name string, groups ...string) *rest.Config {
	t.Helper()
	return must(l.user(name, groups...))(t)
}

func (l *Lab) user(name string, groups ...string) (*rest.Config, error) {
	cert, key, err := l.authority.sign(name, groups)
	if err != nil {
		return nil, err
	}
	config := l.anonymous()
	config.CertData, config.KeyData = cert, key
	return config, nil
}

func (l *Lab) anonymous() *rest.Config {
	return &rest.Config{
		Host: l.Config.Host, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: l.authority.ca},
		ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"},
	}
}

// ServiceAccount is the access of a service account, by a token as its pods get it. The account must exist.
func (l *Lab) ServiceAccount(t testing.TB, namespace, name string) *rest.Config {
	t.Helper()
	request := must(l.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{ExpirationSeconds: new(int64(86400))}}, metav1.CreateOptions{}))(t)
	config := l.anonymous()
	config.BearerToken = request.Status.Token
	return config
}

// Kubectl runs kubectl as the administrator and gives its output.
func (l *Lab) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(l.Programs, "kubectl"), append([]string{"--kubeconfig=" + l.Kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// WriteKubeconfig writes an access to a file for a program to use.
func (l *Lab) WriteKubeconfig(t testing.TB, name string, config *rest.Config) string {
	t.Helper()
	return must(l.writeKubeconfig(name, config))(t)
}

func (l *Lab) writeKubeconfig(name string, c *rest.Config) (string, error) {
	path := filepath.Join(l.Dir, name+".kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, Token: c.BearerToken}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: name}
	config.CurrentContext = name
	return path, clientcmd.WriteToFile(*config, path)
}

// Namespace makes a namespace of the test's own, with these labels (key, value, ...). Its pods are deleted with the test.
func (l *Lab) Namespace(t testing.TB, labels ...string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-", Labels: map[string]string{}}}
	for i := 0; i+1 < len(labels); i += 2 {
		namespace.Labels[labels[i]] = labels[i+1]
	}
	name := must(l.Client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}))(t).Name
	t.Cleanup(func() {
		ctx, now := context.Background(), metav1.DeleteOptions{GracePeriodSeconds: new(int64), PropagationPolicy: new(metav1.DeletePropagationBackground)}
		_ = l.Client.BatchV1().Jobs(name).DeleteCollection(ctx, now, metav1.ListOptions{})
		_ = l.Client.CoreV1().Pods(name).DeleteCollection(ctx, now, metav1.ListOptions{})
		_ = l.Client.CoreV1().Namespaces().Delete(ctx, name, now)
	})
	return name
}

// Eventually waits until holds is true, and fails the test if it never is.
func Eventually(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
