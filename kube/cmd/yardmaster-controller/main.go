// yardmaster-controller runs a policy in front of a cluster's scheduler: see package gate.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/klog/v2"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/gate"
)

type options struct {
	namespace, listen   string
	elect               bool
	lease, renew, retry time.Duration
	qps                 float32
	burst, writers      int
	kubeconfig          *clientcmd.ClientConfigLoadingRules
	overrides           clientcmd.ConfigOverrides
	logs                *logsapi.LoggingConfiguration
	handler             atomic.Value
}

func main() {
	o := &options{kubeconfig: clientcmd.NewDefaultClientConfigLoadingRules(), logs: logsapi.NewLoggingConfiguration()}
	fs := pflag.NewFlagSet("yardmaster-controller", pflag.ExitOnError)
	fs.SetNormalizeFunc(flag.WordSepNormalizeFunc)
	fs.StringVar(&o.kubeconfig.ExplicitPath, "kubeconfig", "", "file with the access to the cluster; in a pod, its service account is the default")
	fs.StringVar(&o.overrides.CurrentContext, "context", "", "context of the kubeconfig")
	fs.StringVar(&o.namespace, "namespace", engine.Name, "namespace of the installation, with the ConfigMap "+engine.Name)
	fs.StringVar(&o.listen, "listen", ":8080", "address of metrics, health and what kubectl yardmaster asks for")
	fs.BoolVar(&o.elect, "leader-elect", true, "wait until no other replica leads")
	fs.DurationVar(&o.lease, "leader-elect-lease-duration", 15*time.Second, "after what time without a sign of the leader another replica leads")
	fs.DurationVar(&o.renew, "leader-elect-renew-deadline", 10*time.Second, "how long a leader tries to renew its lease before it gives up")
	fs.DurationVar(&o.retry, "leader-elect-retry-period", 2*time.Second, "pause between two tries")
	fs.Float32Var(&o.qps, "kube-api-qps", 500, "requests to the API server a second")
	fs.IntVar(&o.burst, "kube-api-burst", 1000, "requests to the API server at once")
	fs.IntVar(&o.writers, "writers", gate.DefaultWriters, "pods released at a time")
	logsapi.AddFlags(o.logs, fs)
	_ = fs.Parse(os.Args[1:])
	if fs.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %s: there are only flags, see --help\n", fs.Arg(0))
		os.Exit(2)
	}
	if err := logsapi.ValidateAndApply(o.logs, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		klog.ErrorS(err, "Stopped")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
	klog.Flush()
}

func (o *options) run(ctx context.Context) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(o.kubeconfig, &o.overrides).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst, config.UserAgent = o.qps, o.burst, "yardmaster-controller"
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	id := host + "_" + string(uuid.NewUUID()) // kubectl yardmaster takes what is before _ for the pod's name
	o.handler.Store(standby())
	server := &http.Server{Addr: o.listen, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.handler.Load().(http.Handler).ServeHTTP(w, r)
	})}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	defer func() { _ = server.Close() }()
	lead := func(ctx context.Context) error {
		return gate.Run(ctx, client, gate.Config{Namespace: o.namespace, Identity: id, Writers: o.writers, Serve: func(h http.Handler) { o.handler.Store(http.Handler(http.HandlerFunc(h.ServeHTTP))) }})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { cancel(<-failed) }()
	if !o.elect {
		err = lead(ctx)
	} else {
		err = o.leading(ctx, config, id, lead)
	}
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// leading calls lead as the only replica that does. The lease ends after lead has, so that the next leader finds the state saved.
func (o *options) leading(ctx context.Context, config *rest.Config, id string, lead func(context.Context) error) error {
	client, err := kubernetes.NewForConfig(config) // with a limit of its own: no other request holds up the lease
	if err != nil {
		return err
	}
	election, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	done := make(chan error, 1)
	var led atomic.Bool
	defer context.AfterFunc(ctx, func() {
		if !led.Load() {
			end()
		}
	})()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: engine.Name, Namespace: o.namespace}, Client: client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: id},
		},
		LeaseDuration: o.lease, RenewDeadline: o.renew, RetryPeriod: o.retry, ReleaseOnCancel: true, Name: engine.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				led.Store(true)
				held, stop := context.WithCancel(held)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				done <- lead(held)
				end()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	elector.Run(election)
	if !led.Load() {
		return nil
	}
	lost := election.Err() == nil
	err = <-done
	if err == nil && lost {
		return errors.New("the lease is lost")
	}
	return err
}

// standby answers for a replica that does not lead.
func standby() http.Handler {
	mux := http.NewServeMux()
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") }
	mux.HandleFunc("GET /healthz", ok)
	mux.HandleFunc("GET /readyz", ok)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "this replica does not lead", http.StatusServiceUnavailable)
	})
	return http.HandlerFunc(mux.ServeHTTP)
}
