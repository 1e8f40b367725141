package sched

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/server"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"github.com/yardmaster/yardmaster/kube/engine"
)

// Command is kube-scheduler's, but for the queue.
func Command() *cobra.Command {
	opts := options.NewOptions()
	flags := *opts.Flags
	own := flags.FlagSet("yardmaster")
	namespace := own.String("yardmaster-namespace", engine.Name, "The namespace of the ConfigMaps with settings and state.")
	address := own.String("yardmaster-address", ":8080", "Where to serve the policy's metrics and what kubectl yardmaster asks for; empty for nowhere.")
	verflag.AddFlags(flags.FlagSet("global"))
	cmd := &cobra.Command{
		Use:               "yardmaster-scheduler",
		Short:             "kube-scheduler with a policy of Yardmaster for the pods of the scheduler " + engine.Name,
		Args:              cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error { return opts.ComponentGlobalsRegistry.Set() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			verflag.PrintAndExitIfRequested()
			if err := logsapi.ValidateAndApply(opts.Logs, opts.ComponentGlobalsRegistry.FeatureGateFor(compatibility.DefaultKubeComponent)); err != nil {
				return err
			}
			cliflag.PrintFlags(cmd.Flags())
			return run(opts, *namespace, *address)
		},
	}
	globalflag.AddGlobalFlags(flags.FlagSet("global"), cmd.Name(), logs.SkipLoggingConfigurationFlags())
	for _, f := range flags.FlagSets {
		cmd.Flags().AddFlagSet(f)
	}
	width, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, flags, width)
	return cmd
}

func run(opts *options.Options, namespace, address string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	setDefaults(namespace)
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	fail := func(err error) {
		klog.ErrorS(err, "The policy has ended")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
	var handler atomic.Pointer[http.Handler]
	q := NewQueue(ctx, Options{Namespace: namespace, Identity: host + "_" + string(uuid.NewUUID()), Serve: func(h http.Handler) { handler.Store(&h) }, Fail: fail})
	stopped := server.SetupSignalHandler()
	go func() {
		<-stopped
		q.Drain()
		q.Stop()
		cancel()
	}()
	if address != "" {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		serve := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if h := handler.Load(); h != nil {
				(*h).ServeHTTP(w, r)
			} else {
				http.Error(w, "this replica does not lead", http.StatusServiceUnavailable)
			}
		})}
		go func() { fail(serve.Serve(listener)) }()
	}
	c, s, err := app.Setup(ctx, opts, app.WithPlugin(Name, q.Plugin))
	if err != nil {
		return err
	}
	q.Wrap(s, c.Client, c.InformerFactory)
	return app.Run(ctx, c, s)
}
