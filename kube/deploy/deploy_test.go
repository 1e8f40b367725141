package deploy_test

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/yardmaster/yardmaster/kube/lab"
)

const hold = "yardmaster.io/hold"

func TestMain(m *testing.M) {
	lab.Main(m, lab.WithControllers("job-controller"), lab.WithScheduler(), lab.WithAudit())
}

// install applies an overlay to a control plane, and waits until the API server acts on its policies.
func install(t *testing.T, l *lab.Lab, overlay string) *lab.Lab {
	t.Helper()
	l.Kubectl(t, "apply", "-k", overlay)
	namespace := l.Namespace(t, "yardmaster.io/managed", "true")
	lab.Eventually(t, time.Minute, "the admission policies act", func() bool {
		bound, held := lab.Pod("bound", "1", "1Gi", 0), lab.Pod("held", "1", "1Gi", 0)
		bound.Spec.NodeName = "somewhere"
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		_, err := l.Client.CoreV1().Pods(namespace).Create(t.Context(), bound, dry)
		pod, err2 := l.Client.CoreV1().Pods(namespace).Create(t.Context(), held, dry)
		return apierrors.IsForbidden(err) && err2 == nil && (waits(pod) || pod.Spec.SchedulerName == "yardmaster")
	})
	return l
}

func waits(p *corev1.Pod) bool {
	for _, g := range p.Spec.SchedulingGates {
		if g.Name == hold {
			return true
		}
	}
	return false
}

// tenant is a user who may do these verbs to pods (and their subresources, as in "pods/status patch") of one namespace.
func tenant(t *testing.T, l *lab.Lab, user, namespace string, rights ...string) kubernetes.Interface {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}
	for _, r := range rights {
		words := strings.Fields(r)
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: words[:1], Verbs: words[1:]})
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "tenant"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
	}
	_, err := l.Client.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})
	check(t, err)
	_, err = l.Client.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{})
	check(t, err)
	client := kubernetes.NewForConfigOrDie(l.User(t, user))
	lab.Eventually(t, time.Minute, "the tenant has his rights", func() bool {
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), lab.Pod("rights", "1", "1Gi", 0), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil
	})
	return client
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a pod may be in a managed namespace, whoever creates it.
func TestAdmission(t *testing.T) {
	l := install(t, lab.Shared(t), "controller")
	managed, free, mixed := l.Namespace(t, "yardmaster.io/managed", "true"), l.Namespace(t), l.Namespace(t, "yardmaster.io/managed", "true", "yardmaster.io/other-schedulers", "allowed")
	var creator kubernetes.Interface
	for _, namespace := range []string{managed, free, mixed} {
		creator = tenant(t, l, "mallory", namespace, "pods create")
	}
	node := kubernetes.NewForConfigOrDie(l.User(t, "system:node:n1", "system:nodes", "system:masters"))
	for name, c := range map[string]struct {
		namespace string
		change    func(*corev1.Pod)
		client    kubernetes.Interface
		held      bool
		refused   string
	}{
		"plain":                    {namespace: managed, held: true},
		"other namespace":          {namespace: free},
		"brings the gate":          {namespace: managed, held: true, change: func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: hold}} }},
		"brings another gate":      {namespace: managed, held: true, change: func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a.io/b"}} }},
		"names its node":           {namespace: managed, refused: "leave spec.nodeName empty", change: func(p *corev1.Pod) { p.Spec.NodeName = "n1" }},
		"names its node elsewhere": {namespace: free, change: func(p *corev1.Pod) { p.Spec.NodeName = "n1" }},
		"mirror of a static pod":   {namespace: managed, client: node, change: func(p *corev1.Pod) { p.Spec.NodeName = "n1" }},
		"another scheduler":        {namespace: managed, refused: "leave spec.schedulerName empty", change: func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }},
		"gate for another scheduler": {namespace: managed, refused: "leave spec.schedulerName empty", change: func(p *corev1.Pod) {
			p.Spec.SchedulingGates, p.Spec.SchedulerName = []corev1.PodSchedulingGate{{Name: hold}}, "nobody"
		}},
		"another scheduler where allowed": {namespace: mixed, change: func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }},
		"plain where others are allowed":  {namespace: mixed, held: true},
		"says it was released":            {namespace: managed, refused: "yardmaster.io/released", change: released},
		"says it was released elsewhere":  {namespace: free, refused: "yardmaster.io/released", change: released},
	} {
		t.Run(name, func(t *testing.T) {
			pod, client := lab.Pod(strings.ReplaceAll(name, " ", "-"), "1", "1Gi", 0), creator
			pod.Spec.AutomountServiceAccountToken = new(false)
			if c.change != nil {
				c.change(pod)
			}
			if c.client != nil {
				client = c.client
			}
			pod, err := client.CoreV1().Pods(c.namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case c.refused != "":
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %v", err)
				}
			case err != nil:
				t.Error(err)
			case waits(pod) != c.held:
				t.Errorf("gates %v", pod.Spec.SchedulingGates)
			}
		})
	}
}

func released(p *corev1.Pod) { p.Annotations["yardmaster.io/released"] = "2026-01-01T00:00:00Z" }

// A tenant with all rights in his namespace cannot let pods go, nor make them another job's once they are there.
func TestTenantCannotRelease(t *testing.T) {
	l := install(t, lab.Shared(t), "controller")
	namespace := l.Namespace(t, "yardmaster.io/managed", "true")
	tenant := tenant(t, l, "mallory", namespace, "* *")
	pods, rest := tenant.CoreV1().Pods(namespace), tenant.CoreV1().RESTClient()
	patch := func(kind types.PatchType, text string, subresources ...string) func(*corev1.Pod) error {
		return func(p *corev1.Pod) error {
			p, err := pods.Patch(t.Context(), p.Name, kind, []byte(text), metav1.PatchOptions{}, subresources...)
			return still(p, err)
		}
	}
	binding := func(p *corev1.Pod) *corev1.Binding {
		return &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}
	}
	relabel := func(subresource string, change func(labels map[string]string)) func(*corev1.Pod) error {
		return func(*corev1.Pod) error {
			n, err := l.Client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
			check(t, err)
			change(n.Labels)
			return rest.Put().Resource("namespaces").Name(namespace).SubResource(subresource).Body(n).Do(t.Context()).Error()
		}
	}
	unmanage := func(subresource string) func(*corev1.Pod) error {
		return relabel(subresource, func(labels map[string]string) { delete(labels, "yardmaster.io/managed") })
	}
	const merge, noGates = types.MergePatchType, `{"spec": {"schedulingGates": null}}`
	for name, attempt := range map[string]func(*corev1.Pod) error{
		"strategic merge patch":  patch(types.StrategicMergePatchType, `{"spec": {"schedulingGates": [{"$patch": "delete", "name": "yardmaster.io/hold"}]}}`),
		"merge patch":            patch(merge, noGates),
		"JSON patch":             patch(types.JSONPatchType, `[{"op": "remove", "path": "/spec/schedulingGates"}]`),
		"patch of the status":    patch(merge, noGates, "status"),
		"resize":                 patch(merge, noGates, "resize"),
		"other size":             patch(types.StrategicMergePatchType, `{"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}`, "resize"),
		"another queue":          patch(merge, `{"metadata": {"labels": {"yardmaster.io/queue": "fast"}}}`),
		"another queue, status":  patch(merge, `{"metadata": {"labels": {"yardmaster.io/queue": "fast"}}}`, "status"),
		"no queue":               patch(merge, `{"metadata": {"labels": null}}`),
		"another job":            patch(merge, `{"metadata": {"labels": {"jobset.sigs.k8s.io/jobset-uid": "1"}}}`),
		"says released":          patch(merge, `{"metadata": {"annotations": {"yardmaster.io/released": "now"}}}`),
		"says released, status":  patch(merge, `{"metadata": {"annotations": {"yardmaster.io/released": "now"}}}`, "status"),
		"namespace":              unmanage(""),
		"namespace, by status":   unmanage("status"),
		"reads of others":        relabel("", func(labels map[string]string) { labels["yardmaster.io/metrics"] = "true" }),
		"namespace, by finalize": unmanage("finalize"),
		"update": func(p *corev1.Pod) error {
			p.Spec.SchedulingGates = nil
			return still(pods.Update(t.Context(), p, metav1.UpdateOptions{}))
		},
		"update of the status": func(p *corev1.Pod) error {
			p.Spec.SchedulingGates = nil
			return still(pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}))
		},
		"ephemeral container": func(p *corev1.Pod) error {
			p.Spec.SchedulingGates = nil
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", Image: "i"}}}
			return still(pods.UpdateEphemeralContainers(t.Context(), p.Name, p, metav1.UpdateOptions{}))
		},
		"binding": func(p *corev1.Pod) error { return pods.Bind(t.Context(), binding(p), metav1.CreateOptions{}) },
		"old kind of binding": func(p *corev1.Pod) error {
			return rest.Post().Namespace(namespace).Resource("bindings").Body(binding(p)).Do(t.Context()).Error()
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := lab.Pod(strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", ""), "1", "1Gi", 0)
			pod.Name, pod.Labels["yardmaster.io/queue"] = strings.ToLower(pod.Name), "slow"
			pod, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
			check(t, err)
			was := pod.DeepCopy()
			pod.ResourceVersion = ""
			if err := attempt(pod); err == nil {
				t.Error("it worked")
			} else if !apierrors.IsForbidden(err) && !errors.Is(err, errStill) {
				t.Errorf("refused for another reason: %v", err)
			}
			now, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
			check(t, err)
			now.Spec.EphemeralContainers = nil // they have no size
			if !reflect.DeepEqual(now.Spec, was.Spec) || !maps.Equal(now.Labels, was.Labels) || !maps.Equal(now.Annotations, was.Annotations) {
				t.Errorf("the pod is %+v with labels %v, annotations %v", now.Spec, now.Labels, now.Annotations)
			}
		})
	}
	// What is not the policies' business goes on, and so does an operator's release by hand; and who may change all namespaces says which are managed.
	pod, err := pods.Create(t.Context(), lab.Pod("p", "1", "1Gi", 0), metav1.CreateOptions{})
	check(t, err)
	if err := patch(merge, `{"metadata": {"labels": {"app": "x"}, "annotations": {"note": "y"}}}`)(pod); !errors.Is(err, errStill) {
		t.Error(err)
	}
	_, err = l.Client.CoreV1().Pods(namespace).Patch(t.Context(), "p", merge, []byte(noGates), metav1.PatchOptions{})
	check(t, err)
	l.Kubectl(t, "create", "clusterrole", "namespaces", "--verb=patch,get", "--resource=namespaces")
	l.Kubectl(t, "create", "clusterrolebinding", "namespaces", "--clusterrole=namespaces", "--user=ann")
	l.Kubectl(t, "label", "namespace", namespace, "yardmaster.io/managed-", "--as=ann")
}

// The port that asks nobody who he is is open to pods of labelled namespaces alone.
func TestNetwork(t *testing.T) {
	l := install(t, lab.Shared(t), "controller")
	l.Kubectl(t, "apply", "-n", "yardmaster", "-f", "common/network.yaml")
	d, err := l.Client.AppsV1().Deployments("yardmaster").Get(t.Context(), "yardmaster", metav1.GetOptions{})
	check(t, err)
	n, err := l.Client.NetworkingV1().NetworkPolicies("yardmaster").Get(t.Context(), "yardmaster", metav1.GetOptions{})
	check(t, err)
	pods, err := metav1.LabelSelectorAsSelector(&n.Spec.PodSelector)
	check(t, err)
	if !pods.Matches(labels.Set(d.Spec.Template.Labels)) {
		t.Errorf("%s does not choose pods with %v", pods, d.Spec.Template.Labels)
	}
	open := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"yardmaster.io/metrics": "true"}}}
	want := networkingv1.NetworkPolicySpec{PodSelector: n.Spec.PodSelector, PolicyTypes: []networkingv1.PolicyType{"Ingress"}, Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{open}}}}
	if !reflect.DeepEqual(n.Spec, want) {
		t.Errorf("%+v", n.Spec)
	}
}

var errStill = errors.New("the request worked, and the pod is held nevertheless")

func still(p *corev1.Pod, err error) error {
	if err == nil && waits(p) {
		return errStill
	}
	return err
}
