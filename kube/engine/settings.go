package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/workload/kube"
)

// ErrRestart says that settings have changed that need a new start. The state is saved as at every stop.
var ErrRestart = errors.New("settings have changed that take effect at a new start")

// settings are the data of the ConfigMap, understood.
type settings struct {
	data      map[string]string
	policy    string // for people
	fresh     func() (policy.Policy, error)
	rules     *kube.Rules
	window    int
	autoscale int      // the pods of so many held jobs are marked for autoscalers
	taints    []string // keys of taints that do not keep pods off, as those who need such a node tolerate them
}

const (
	maxSettings  = 256 << 10 // bytes, so that the last good ones fit into the state
	maxWindow    = 100_000
	maxAutoscale = 1000
)

// parse reads settings; it refuses them whole. The policy is as on the command line, or the name of another key with the text of a scheduler's file.
func parse(data map[string]string) (*settings, error) {
	size, own := 0, []string{"policy", "window", "autoscale", "taints"}
	for key, text := range data {
		size += len(key) + len(text)
		if strings.HasSuffix(key, ".xml") {
			own = append(own, key)
		}
	}
	if size > maxSettings {
		return nil, fmt.Errorf("the settings have %d bytes: at most %d are read", size, maxSettings)
	}
	s := &settings{data: data, policy: strings.TrimSpace(data["policy"])}
	var err error
	switch text, file := data[s.policy]; {
	case s.policy == "":
		return nil, errors.New("setting policy is missing: write the name of a policy, such as fifo, fair:by=user or fbq, or the key of a capacity-scheduler.xml")
	case file && s.policy != "policy":
		own = append(own, s.policy)
		s.fresh, err = all.Read(s.policy, []byte(text))
	default:
		s.fresh, err = load(s.policy)
	}
	if err != nil {
		return nil, fmt.Errorf("setting policy: %w", err)
	}
	p, err := s.fresh()
	if err == nil {
		err = p.Check("Kubernetes", live.Gives)
	}
	if err != nil {
		return nil, fmt.Errorf("setting policy: %s: %w", s.policy, err)
	}
	if s.window, err = number(data, "window", live.DefaultWindow, 1, maxWindow); err != nil {
		return nil, err
	}
	if s.autoscale, err = number(data, "autoscale", 0, 0, maxAutoscale); err != nil {
		return nil, err
	}
	for key := range strings.SplitSeq(data["gpu"]+","+data["taints"], ",") { // nodes with an extended resource are often tainted with its name
		if key = strings.TrimSpace(key); key != "" {
			s.taints = append(s.taints, key)
		}
	}
	s.rules, err = kube.NewRules(data, own...)
	return s, err
}

func number(data map[string]string, key string, otherwise, low, high int) (int, error) {
	text, set := data[key]
	if !set {
		return otherwise, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("setting %s: %.40q is not a number from %d to %d", key, text, low, high)
	}
	return n, nil
}

// load builds a policy by name. Files of this machine are none of a ConfigMap's business.
func load(text string) (func() (policy.Policy, error), error) {
	spec, err := policy.ParseSpec(text)
	if err != nil {
		return nil, err
	}
	if _, known := all.Policies.Find(spec.Name); !known && strings.Contains(spec.Name, ".") {
		return nil, fmt.Errorf("the ConfigMap has no key %.60s with the text of a scheduler's file", spec.Name)
	}
	if _, file := spec.Params["model"]; file {
		return nil, errors.New("model names a file, and only the ConfigMap is read")
	}
	if spec.Name == "fair" && spec.Params["resource"] == "" { // pods without requests count as pods
		text = strings.TrimSuffix(strings.TrimSpace(text), ":")
		if len(spec.Params) == 0 {
			text += ":resource=drf"
		} else {
			text += ",resource=drf"
		}
	}
	fresh, _, err := all.Load(all.Policies, text)
	return fresh, err
}

// firstSettings are those of the ConfigMap, or the last good ones.
func (e *Engine) firstSettings(ctx context.Context) (*settings, error) {
	m, err := e.client.CoreV1().ConfigMaps(e.cfg.Namespace).Get(ctx, Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		err = fmt.Errorf("there is no ConfigMap %s/%s: create it with the key policy, such as fair:by=user", e.cfg.Namespace, Name)
	case err != nil:
		return nil, fmt.Errorf("read settings: %w", err)
	default:
		var s *settings
		if s, err = parse(m.Data); err == nil {
			return s, nil
		}
		err = fmt.Errorf("ConfigMap %s/%s: %w", e.cfg.Namespace, Name, err)
	}
	last, bad := parse(e.state.Settings)
	if len(e.state.Settings) == 0 || bad != nil {
		return nil, err
	}
	e.refuse(ctx, err)
	return last, nil
}

// watchSettings follows the ConfigMap.
func (e *Engine) watchSettings(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(e.client, 0, informers.WithNamespace(e.cfg.Namespace), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, Name).String()
	}))
	_, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { e.change(ctx, o.(*corev1.ConfigMap).Data) },
		UpdateFunc: func(_, o any) { e.change(ctx, o.(*corev1.ConfigMap).Data) },
		DeleteFunc: func(any) { e.refuse(ctx, errors.New("the ConfigMap is gone: the last settings stay")) },
	})
	factory.StartWithContext(ctx)
	return err
}

// change takes new settings, or refuses them whole.
func (e *Engine) change(ctx context.Context, data map[string]string) {
	old := e.current()
	if maps.Equal(old.data, data) {
		e.accept("")
		return
	}
	s, err := parse(data)
	if err == nil && !old.sameRules(s) {
		e.mu.Lock()
		e.settings = s // saved as the last good ones
		e.mu.Unlock()
		e.stop(ErrRestart)
		return
	}
	if err == nil {
		e.saving.Lock()
		if err = e.Core.Reload(s.fresh); err == nil {
			e.runs = s.policy
		}
		e.saving.Unlock()
	}
	if err != nil {
		e.refuse(ctx, err)
		return
	}
	e.mu.Lock()
	e.settings = s
	e.mu.Unlock()
	e.accept("policy " + s.policy)
	e.Wake()
}

// sameRules reports whether settings differ in the policy and its file at most.
func (s *settings) sameRules(o *settings) bool {
	bare := func(s *settings) map[string]string {
		m := maps.Clone(s.data)
		delete(m, "policy")
		delete(m, "autoscale")
		maps.DeleteFunc(m, func(key, _ string) bool { return strings.HasSuffix(key, ".xml") || key == s.policy })
		return m
	}
	return maps.Equal(bare(s), bare(o))
}

func (e *Engine) refuse(ctx context.Context, err error) {
	e.mu.Lock()
	again := e.refused != nil && e.refused.Error() == err.Error()
	e.refused = err
	e.mu.Unlock()
	if !again {
		e.Warn(ctx, "SettingsRefused", err.Error())
	}
}

func (e *Engine) accept(what string) {
	e.mu.Lock()
	e.refused = nil
	e.mu.Unlock()
	if what != "" {
		e.recorder.Event(e.settingsObject(), corev1.EventTypeNormal, "SettingsAccepted", what)
	}
}

func (e *Engine) settingsObject() *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: e.cfg.Namespace, Name: Name}
}

func (e *Engine) rules() *kube.Rules { return e.current().rules }

func (e *Engine) current() *settings {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.settings
}
