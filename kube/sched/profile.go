package sched

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	defaultsv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/yardmaster/yardmaster/kube/engine"
)

// setDefaults has configurations of the scheduler default to ours, as far as they say nothing else: the profile of the policy, in which pods that are alike are scheduled
// in batches; a lease of our own; and a limit of requests that does not slow down a large backlog. The plug-in is part of every profile, since all have to share an order.
func setDefaults(namespace string) {
	scheme.Scheme.AddTypeDefaultingFunc(&configv1.KubeSchedulerConfiguration{}, func(o any) {
		c := o.(*configv1.KubeSchedulerConfiguration)
		if !slices.ContainsFunc(c.Profiles, func(p configv1.KubeSchedulerProfile) bool {
			return p.SchedulerName != nil && *p.SchedulerName == engine.Name
		}) {
			c.Profiles = append(c.Profiles, configv1.KubeSchedulerProfile{SchedulerName: new(engine.Name), PluginConfig: []configv1.PluginConfig{
				// Constraints that a pod does not ask for would make every pod one of its kind, and so would the wishes of pods that run.
				{Name: names.PodTopologySpread, Args: args("PodTopologySpreadArgs", &configv1.PodTopologySpreadArgs{DefaultingType: configv1.ListDefaulting})},
				{Name: names.InterPodAffinity, Args: args("InterPodAffinityArgs", &configv1.InterPodAffinityArgs{IgnorePreferredTermsOfExistingPods: true})},
			}})
		}
		for i := range c.Profiles {
			p := &c.Profiles[i]
			if p.Plugins == nil {
				p.Plugins = &configv1.Plugins{}
			}
			all := &p.Plugins.MultiPoint
			all.Enabled = append(all.Enabled, configv1.Plugin{Name: Name})
			all.Disabled = append(all.Disabled, configv1.Plugin{Name: names.PrioritySort})
			if p.SchedulerName != nil && *p.SchedulerName == engine.Name { // who goes first is the policy's to decide
				all.Disabled = append(all.Disabled, configv1.Plugin{Name: names.DefaultPreemption})
			}
		}
		if c.LeaderElection.ResourceName == "" {
			c.LeaderElection.ResourceName, c.LeaderElection.ResourceNamespace = engine.Name, namespace
		}
		if c.ClientConnection.QPS == 0 {
			c.ClientConnection.QPS, c.ClientConnection.Burst = 1000, 2000
		}
		defaultsv1.SetObjectDefaults_KubeSchedulerConfiguration(c)
	})
}

func args(kind string, o runtime.Object) runtime.RawExtension {
	o.GetObjectKind().SetGroupVersionKind(configv1.SchemeGroupVersion.WithKind(kind))
	return runtime.RawExtension{Object: o}
}
