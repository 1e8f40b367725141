package deploy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/gate"
	"github.com/yardmaster/yardmaster/kube/lab"
)

const robot = "system:serviceaccount:yardmaster:yardmaster"

// right is a verb on a resource: "patch /pods", "get /configmaps yardmaster".
func right(verb, group, resource, name string) string {
	return strings.TrimSpace(verb + " " + group + "/" + resource + " " + name)
}

// granted are the rights that the installation gives, and how to change the role that has them.
func granted(t *testing.T, l *lab.Lab) map[string]func(without bool) {
	t.Helper()
	all := map[string]func(bool){}
	add := func(rules []rbacv1.PolicyRule, set func([]rbacv1.PolicyRule) error) {
		for i, r := range rules {
			if len(r.APIGroups) != 1 || len(r.Resources) != 1 || len(r.ResourceNames) > 1 {
				t.Fatalf("a rule about more than one thing: %v", r)
			}
			for _, verb := range r.Verbs {
				all[right(verb, r.APIGroups[0], r.Resources[0], strings.Join(r.ResourceNames, ""))] = func(without bool) {
					t.Helper()
					now := slices.Clone(rules)
					if without {
						now[i].Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return v == verb })
					}
					if len(now[i].Verbs) == 0 {
						now = slices.Delete(now, i, i+1)
					}
					check(t, set(now))
				}
			}
		}
	}
	for _, name := range []string{"yardmaster", "yardmaster-engine"} {
		role, err := l.Client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
		check(t, err)
		add(role.Rules, func(rules []rbacv1.PolicyRule) error {
			role.ResourceVersion, role.Rules = "", rules
			_, err := l.Client.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{})
			return err
		})
	}
	role, err := l.Client.RbacV1().Roles("yardmaster").Get(t.Context(), "yardmaster", metav1.GetOptions{})
	check(t, err)
	add(role.Rules, func(rules []rbacv1.PolicyRule) error {
		role.ResourceVersion, role.Rules = "", rules
		_, err := l.Client.RbacV1().Roles("yardmaster").Update(t.Context(), role, metav1.UpdateOptions{})
		return err
	})
	return all
}

// request is a line of the audit log.
type request struct {
	Verb      string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Subresource, Namespace, Name, APIGroup string }
	Response  struct{ Code int } `json:"responseStatus"`
}

// requests are those of the service account after an offset of the audit log, by right and code.
func requests(t *testing.T, l *lab.Lab, offset int) map[string]map[int]int {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(l.Dir, "audit.log"))
	check(t, err)
	all := map[string]map[int]int{}
	for line := range strings.Lines(string(log[min(offset, len(log)):])) {
		var r request
		if json.Unmarshal([]byte(line), &r) != nil || r.User.Username != robot {
			continue
		}
		o := r.ObjectRef
		if o.Subresource != "" {
			o.Resource += "/" + o.Subresource
		}
		if o.Resource != "configmaps" && o.Resource != "leases" || r.Verb == "create" {
			o.Name = ""
		}
		key := right(r.Verb, o.APIGroup, o.Resource, o.Name)
		if all[key] == nil {
			all[key] = map[int]int{}
		}
		all[key][r.Response.Code]++
	}
	return all
}

// life is one of a controller, with all that it ever asks the API server for: it starts without a state, lets a pod go, hears of settings, and stops.
func life(t *testing.T, l *lab.Lab, program, namespace string, until func() bool) {
	t.Helper()
	ctx, home := t.Context(), l.Client.CoreV1().ConfigMaps("yardmaster")
	_ = home.Delete(ctx, engine.StateName, metav1.DeleteOptions{})
	_ = l.Client.CoordinationV1().Leases("yardmaster").Delete(ctx, engine.Name, metav1.DeleteOptions{})
	pod := lab.Pod("", "100m", "1Mi", 10*time.Millisecond)
	pod.GenerateName = "p-"
	_, err := l.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	check(t, err)
	kubeconfig := l.WriteKubeconfig(t, "yardmaster", l.ServiceAccount(t, "yardmaster", "yardmaster"))
	p := l.Run(t, "yardmaster-controller", program, "--kubeconfig="+kubeconfig, "--listen=127.0.0.1:0", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
		"--leader-elect-retry-period=200ms")
	defer p.Kill()
	policies := []string{"fifo", "fair:by=user", "fifo", "fair:by=user"}
	for deadline := time.Now().Add(time.Minute); !until(); time.Sleep(100 * time.Millisecond) {
		if len(policies) > 0 {
			_, err := home.Patch(ctx, engine.Name, types.MergePatchType, []byte(fmt.Sprintf(`{"data": {"policy": %q}}`, policies[0])), metav1.PatchOptions{})
			check(t, err)
			policies = append(policies[1:], policies[0])
		}
		select {
		case <-p.Exited():
			check(t, p.Start())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("not within a minute")
		}
	}
	p.Signal(syscall.SIGTERM)
}

// The controller uses every right that it is given and asks for no other, and each of them is missed.
func TestRights(t *testing.T) {
	l := install(t, lab.Shared(t), "controller")
	program := build(t, "yardmaster-controller")
	namespace := l.Namespace(t, "yardmaster.io/managed", "true")
	kubelet := &lab.Kubelet{}
	kubelet.Run(t, l)
	kubelet.Nodes(t, 1, "rights", nil, "cpu", "2", "memory", "8Gi")
	rights := granted(t, l)

	needs := map[string]bool{}
	for _, n := range gate.Needs {
		group, resource, _ := strings.Cut(n.Resource, "/")
		for _, verb := range n.Verbs {
			needs[right(verb, group, resource, n.Name)] = true
		}
	}
	if have, want := slices.Sorted(maps.Keys(rights)), slices.Sorted(maps.Keys(needs)); !slices.Equal(have, want) {
		t.Errorf("granted: %q\nneeded: %q", have, want)
	}

	// Informers of today watch only, and those that a server does not serve so list first.
	for _, way := range []string{"true", "false"} {
		t.Setenv("KUBE_FEATURE_WatchListClient", way)
		from := size(t, l)
		life(t, l, program, namespace, func() bool {
			used := requests(t, l, from)
			return used["patch /pods"][200] > 0 && used["patch /events"][200] > 0 && used["update coordination.k8s.io/leases yardmaster"][200] > 1
		})
	}
	lab.Eventually(t, time.Minute, "all rights are used, and no others", func() bool {
		used := requests(t, l, 0)
		delete(used, "create authorization.k8s.io/selfsubjectaccessreviews") // everybody may
		for key := range used {
			if rights[key] == nil {
				t.Errorf("asked for %s", key)
			}
		}
		return len(used) >= len(rights)-1 // all but that to release, which the admission policies ask for
	})

	for key, set := range rights {
		t.Run(key, func(t *testing.T) {
			set(true)
			defer set(false)
			fields := strings.Fields(key + " ")
			group, resource, _ := strings.Cut(fields[1], "/")
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: robot, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: fields[0], Group: group, Resource: resource, Namespace: "yardmaster",
			}}}
			if len(fields) > 2 {
				review.Spec.ResourceAttributes.Name = fields[2]
			}
			lab.Eventually(t, time.Minute, "the right is gone", func() bool {
				r, err := l.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
				return err == nil && !r.Status.Allowed
			})
			t.Setenv("KUBE_FEATURE_WatchListClient", fmt.Sprint(fields[0] != "list"))
			missed := key
			if fields[0] == "release" {
				missed = "patch /pods"
			}
			from := size(t, l)
			life(t, l, program, namespace, func() bool { return requests(t, l, from)[missed][403] > 0 })
		})
	}
}

// The scheduler has the rights that it needs, and a tenant cannot bind what it holds.
func TestScheduler(t *testing.T) {
	program := build(t, "yardmaster-scheduler")
	l := install(t, lab.Start(t, lab.WithAudit()), "scheduler")
	kubelet := &lab.Kubelet{}
	kubelet.Run(t, l)
	node := kubelet.Nodes(t, 1, "node", nil, "cpu", "2", "memory", "8Gi")[0]
	namespace := l.Namespace(t, "yardmaster.io/managed", "true")
	pods := tenant(t, l, "mallory", namespace, "* *").CoreV1().Pods(namespace)
	for i := range 5 {
		_, err := pods.Create(t.Context(), lab.Pod(fmt.Sprint("p-", i), "1", "1Mi", 10*time.Millisecond), metav1.CreateOptions{})
		check(t, err)
	}
	err := pods.Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p-4"}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a tenant binds a held pod: %v", err)
	}
	file := l.WriteKubeconfig(t, "yardmaster", l.ServiceAccount(t, "yardmaster", "yardmaster"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	check(t, listener.Close())
	l.Run(t, "yardmaster-scheduler", program, "--kubeconfig="+file, "--authentication-kubeconfig="+file, "--authorization-kubeconfig="+file, "--bind-address=127.0.0.1",
		"--secure-port="+port, "--yardmaster-address=127.0.0.1:0", "--yardmaster-namespace=yardmaster", "--leader-elect-resource-namespace=yardmaster",
		"--leader-elect-resource-name=yardmaster")
	lab.Eventually(t, time.Minute, "all pods have run", func() bool {
		list, err := l.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Succeeded"})
		return err == nil && len(list.Items) == 5
	})
	used := requests(t, l, 0)
	for key, codes := range used {
		if codes[403] > 0 {
			t.Errorf("refused: %s", key)
		}
	}
	for _, key := range []string{"create /pods/binding", "update coordination.k8s.io/leases yardmaster", "get /configmaps yardmaster"} {
		if used[key] == nil {
			t.Errorf("never asked for: %s", key)
		}
	}
}

// build builds a command of this module.
func build(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "../cmd/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func size(t *testing.T, l *lab.Lab) int {
	t.Helper()
	info, err := os.Stat(filepath.Join(l.Dir, "audit.log"))
	check(t, err)
	return int(info.Size())
}
