// kubectl-yardmaster is a plug-in of kubectl: kubectl yardmaster why|queue|check. It asks the replica that leads, through the API server's proxy.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/kube/engine"
)

type command struct {
	config     clientcmd.ClientConfig
	home, port string
	json       bool
	client     kubernetes.Interface
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := root(os.Stdout).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", term.Clean(err.Error()))
		os.Exit(1)
	}
}

func root(out io.Writer) *cobra.Command {
	c, rules, overrides := &command{}, clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{}
	r := &cobra.Command{
		Use: "kubectl-yardmaster", Short: "What Yardmaster's policy does with the pods of this cluster", SilenceUsage: true, SilenceErrors: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl yardmaster"},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			config, err := c.config.ClientConfig()
			if err != nil {
				return err
			}
			config.Timeout = 30 * time.Second
			c.client, err = kubernetes.NewForConfig(config)
			return err
		},
	}
	r.SetOut(out)
	r.CompletionOptions.DisableDefaultCmd = true
	f := r.PersistentFlags()
	f.StringVar(&rules.ExplicitPath, "kubeconfig", "", "file with the access to the cluster")
	clientcmd.BindOverrideFlags(overrides, f, clientcmd.RecommendedConfigOverrideFlags(""))
	f.StringVar(&c.home, "yardmaster-namespace", engine.Name, "namespace of the installation")
	f.StringVar(&c.port, "port", "8080", "port of the controller")
	f.BoolVar(&c.json, "json", false, "print JSON")
	c.config = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)

	var queue string
	var all bool
	list := &cobra.Command{Use: "queue", Short: "List the jobs, in the order of their arrival", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		namespace := ""
		if !all {
			namespace = c.namespace()
		}
		return c.print(cmd, map[string]string{"queue": queue, "namespace": namespace}, "queue")
	}}
	list.Flags().StringVar(&queue, "queue", "", "of one queue")
	list.Flags().BoolVarP(&all, "all-namespaces", "A", false, "of all namespaces")
	r.AddCommand(
		&cobra.Command{Use: "why JOB", Short: "Say why the pods of a job are held", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.TrimPrefix(args[0], "job/")
			if name == "" || strings.ContainsAny(name, "/%?#") || strings.Trim(name, ".") == "" {
				return fmt.Errorf("%q is not the name of a job", args[0])
			}
			return c.print(cmd, nil, "why", c.namespace(), name)
		}},
		list,
		&cobra.Command{Use: "check", Short: "Check the installation", Args: cobra.NoArgs, RunE: c.check},
	)
	return r
}

func (c *command) namespace() string {
	namespace, _, _ := c.config.Namespace()
	return namespace
}

// leader is the pod that leads.
func (c *command) leader(ctx context.Context) (string, error) {
	lease, err := c.client.CoordinationV1().Leases(c.home).Get(ctx, engine.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("no controller has ever led in namespace %s: is Yardmaster installed there? (--yardmaster-namespace)", c.home)
	case err != nil:
		return "", err
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "":
		return "", fmt.Errorf("no controller leads: see kubectl get pods -n %s", c.home)
	}
	if r, d := lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds; r != nil && d != nil && time.Since(r.Time) > 2*time.Duration(*d)*time.Second {
		return "", fmt.Errorf("no controller has led since %s: see kubectl get pods -n %s", r.Format(time.RFC3339), c.home)
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod, nil
}

// ask asks the leader.
func (c *command) ask(ctx context.Context, params map[string]string, path ...string) (engine.Answer, error) {
	var a engine.Answer
	pod, err := c.leader(ctx)
	if err != nil {
		return a, err
	}
	r := c.client.CoreV1().RESTClient().Get().Namespace(c.home).Resource("pods").Name(pod+":"+c.port).SubResource("proxy").Suffix(path...).Param("o", "json")
	for key, value := range params {
		r.Param(key, value)
	}
	text, err := r.DoRaw(ctx)
	if json.Unmarshal(text, &a) == nil && a.Text != "" && (err == nil || apierrors.IsNotFound(err)) {
		if err != nil {
			return a, errors.New(strings.TrimSpace(a.Text))
		}
		return a, nil
	}
	if apierrors.IsForbidden(err) {
		return a, fmt.Errorf("%w: it takes the right to get pods/proxy in namespace %s; the events on a job say why it waits, too (kubectl describe)", err, c.home)
	}
	if err == nil {
		err = errors.New("the answer is none of Yardmaster's")
	}
	return a, fmt.Errorf("ask pod %s/%s: %w", c.home, pod, err)
}

func (c *command) print(cmd *cobra.Command, params map[string]string, path ...string) error {
	a, err := c.ask(cmd.Context(), params, path...)
	if err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(a)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), term.Clean(a.Text))
	return err
}

// check goes through what an installation needs. It fails if something is missing.
func (c *command) check(cmd *cobra.Command, _ []string) error {
	ctx, wrong := cmd.Context(), 0
	say := func(what string, err error) {
		mark := "ok  "
		if err != nil {
			mark, what = "FAIL", what+": "+err.Error()
			wrong++
		}
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), mark, term.Clean(what))
	}
	_, err := c.client.CoreV1().ConfigMaps(c.home).Get(ctx, engine.Name, metav1.GetOptions{})
	say("settings in ConfigMap "+c.home+"/"+engine.Name, err)
	say("a MutatingAdmissionPolicy and its binding put the scheduling gate "+engine.Gate+" on pods, or name the scheduler "+engine.Name, c.gates(ctx))
	pod, err := c.leader(ctx)
	say(strings.TrimSpace("a controller leads "+pod), err)
	if err == nil {
		a, err := c.ask(ctx, nil, "check")
		say("it answers", err)
		if err == nil {
			if a.Settings != "" {
				err = errors.New(a.Settings)
			}
			say("its settings are accepted; policy "+a.Policy, err)
			err = nil
			if len(a.Lacks) > 0 {
				err = errors.New("it may not " + strings.Join(a.Lacks, ", "))
			}
			if a.Lacks != nil {
				say("its service account has the rights that it needs", err)
			}
			_, _ = fmt.Fprint(cmd.OutOrStdout(), "\n", term.Clean(a.Text))
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of the checks failed", wrong)
	}
	return nil
}

// gates reports whether some admission policy with a binding has pods held.
func (c *command) gates(ctx context.Context) error {
	policies, err := c.client.AdmissionregistrationV1().MutatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	bindings, err := c.client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	bound := map[string]bool{}
	for _, b := range bindings.Items {
		bound[b.Spec.PolicyName] = true
	}
	for _, p := range policies.Items {
		for _, m := range p.Spec.Mutations {
			if adds(&m) && bound[p.Name] {
				return nil
			}
		}
	}
	return errors.New("there is none: only pods that are created with the gate are held")
}

// adds reports whether a mutation adds the gate, or names our scheduler.
func adds(m *admissionv1.Mutation) bool {
	text := ""
	if m.JSONPatch != nil {
		text = m.JSONPatch.Expression
	} else if m.ApplyConfiguration != nil {
		text = m.ApplyConfiguration.Expression
	}
	return strings.Contains(text, engine.Gate) || strings.Contains(text, "schedulerName") && strings.Contains(text, `"`+engine.Name+`"`)
}
