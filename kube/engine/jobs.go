package engine

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/yardmaster/yardmaster/workload/kube"
)

// watchJobs keeps the cluster's Jobs, whose end is the end of theirs in the core. It returns once they are known.
func (e *Engine) watchJobs(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(e.client, 0, informers.WithTransform(Strip))
	e.jobs = factory.Batch().V1().Jobs().Lister()
	ended := func(j *batchv1.Job) {
		e.Core.JobEnded(j.Namespace + "/" + string(j.UID))
		e.Wake()
	}
	saw := func(j *batchv1.Job) {
		if finished(j) {
			ended(j)
		}
	}
	registered, err := factory.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { saw(o.(*batchv1.Job)) },
		UpdateFunc: func(was, o any) {
			if was := was.(*batchv1.Job); was.UID != o.(*batchv1.Job).UID { // deleted, and another made with its name, while the watch was away
				ended(was)
			}
			saw(o.(*batchv1.Job))
		},
		DeleteFunc: func(o any) {
			if d, missed := o.(cache.DeletedFinalStateUnknown); missed {
				o = d.Obj
			}
			ended(o.(*batchv1.Job))
		},
	})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return errors.Join(errors.New("the cluster's Jobs could not be listed"), context.Cause(ctx))
	}
	return nil
}

func finished(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return j.DeletionTimestamp != nil
}

// owner is the Job that a pod says it belongs to, if there is such a Job.
func (e *Engine) owner(namespace string, o kube.Owner) *batchv1.Job {
	if o.Kind != "Job" {
		return nil
	}
	j, err := e.jobs.Jobs(namespace).Get(o.Name)
	if err != nil || string(j.UID) != o.UID {
		return nil
	}
	return j
}

// know keeps what people call a job.
func (e *Engine) know(id kube.Identity, object corev1.ObjectReference) {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := e.known[id.Key]
	if k == nil {
		k = &known{}
		e.known[id.Key] = k
	}
	if k.object.Kind != "Job" {
		k.object = object
	}
	k.name, k.ignored = id.Name, id.Ignored
}

// name is what people call a job.
func (e *Engine) name(key string) string {
	if k := e.known[key]; k != nil {
		return k.name
	}
	return key
}
