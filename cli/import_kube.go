package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/kube"
)

// kubeFlags are the flags of import kube and import prometheus.
type kubeFlags struct {
	server, token, ca string
	set               []string
	running           bool
	output            string
}

func (f *kubeFlags) add(cmd *cobra.Command, server string, more ...string) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.server, "server", "", server)
	fs.StringVar(&f.token, "token-file", "", "`FILE` with the bearer token to log in with")
	fs.StringVar(&f.ca, "ca", "", "PEM `FILE` of additional certificate authorities to trust")
	fs.StringArrayVar(&f.set, "set", nil, "how pods are read: `KEY=VALUE` as in the settings of yardmaster on Kubernetes (queue=label, queues.NAMESPACE=a,b, priority=yes, gpu=nvidia.com/gpu)")
	fs.BoolVar(&f.running, "running", false, "include jobs that have not ended, as if they had ended at the latest instant of the data")
	fs.StringVarP(&f.output, "output", "o", "", "write into the folder `DIR`")
	setGroup(fs, inSource, append([]string{"server", "set", "running"}, more...)...)
	setGroup(fs, inLogin, "token-file", "ca")
	setGroup(fs, inOutput, "output")
}

func newImportKube() *cobra.Command {
	var f kubeFlags
	cmd := &cobra.Command{
		Use:   "kube FILE... -o DIR",
		Short: "Import the Jobs and pods of a Kubernetes cluster",
		Args: func(cmd *cobra.Command, args []string) error {
			help := "See \"" + cmd.CommandPath() + " --help\"."
			switch {
			case len(args) == 0 && f.server == "":
				return misuse(help, "import kube: no source: name files that kubectl get jobs,pods,nodes -A -o json wrote (- for standard input), or give --server URL")
			case f.output == "":
				return misuse(help, "import kube: no output folder: give -o DIR")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return labelled("import", f.run(cmd, "kube: "+strings.TrimSpace(baseNames(args, "-")+" "+f.server), func(h *kube.History, s *kube.Server, progress func(int)) error {
				for _, path := range args {
					in, err := input.Open(path)
					if err != nil {
						return err
					}
					_, err = h.Read(in)
					if err = cmp.Or(err, in.Close()); err != nil {
						return fmt.Errorf("%s: %w", in.Name, err)
					}
				}
				if s == nil {
					return nil
				}
				return h.Fetch(cmd.Context(), s, progress)
			}))
		},
	}
	f.add(cmd, "`URL` of an API server; http://127.0.0.1:8001 is that of kubectl proxy")
	return cmd
}

func newImportPrometheus() *cobra.Command {
	var (
		f            kubeFlags
		since, until string
		window       time.Duration
	)
	cmd := &cobra.Command{
		Use:   "prometheus --server URL -o DIR",
		Short: "Import the pods of a Kubernetes cluster from Prometheus",
		Args: func(cmd *cobra.Command, args []string) error {
			help := "See \"" + cmd.CommandPath() + " --help\"."
			switch {
			case len(args) > 0:
				return misuse(help, "import prometheus: %q is not a flag", args[0])
			case f.server == "":
				return misuse(help, "import prometheus: no source: give --server URL")
			case f.output == "":
				return misuse(help, "import prometheus: no output folder: give -o DIR")
			case window < time.Minute || window > 7*24*time.Hour:
				return misuse(help, "import prometheus: --window is from 1m to 168h, not %v", window)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			from, err := when("--since", since, now)
			to := now
			if err == nil && until != "" {
				to, err = when("--until", until, now)
			}
			if err != nil {
				return err
			}
			if d := to.Sub(from); d <= 0 || d > 366*24*time.Hour {
				return misuse("", "import prometheus: from --since to --until it is %v: at most a year is read", d.Round(time.Second))
			}
			return labelled("import", f.run(cmd, "prometheus: "+f.server, func(h *kube.History, s *kube.Server, progress func(int)) error {
				return h.Metrics(cmd.Context(), s, from, to, window, progress)
			}))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&since, "since", "7d", "pods that were there within this `TIME` before now, or from a day or time on (2026-11-01, 2026-11-01T14:30)")
	fs.StringVar(&until, "until", "", "and before this `TIME`")
	fs.DurationVar(&window, "window", 6*time.Hour, "ask for a window of this `TIME` at once: less, where answers are too large")
	f.add(cmd, "`URL` of a Prometheus that scrapes kube-state-metrics", "since", "until", "window")
	return cmd
}

// run reads a history and writes the folder.
func (f *kubeFlags) run(cmd *cobra.Command, title string, read func(*kube.History, *kube.Server, func(int)) error) error {
	ctx := cmd.Context()
	settings := map[string]string{}
	for _, s := range f.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return misuse("", "--set %s: write KEY=VALUE", s)
		}
		settings[key] = value
	}
	rules, err := kube.NewRules(settings)
	if err != nil {
		return &usageError{err: err}
	}
	var server *kube.Server
	if f.server != "" {
		if server, err = kube.NewServer(f.server, f.token, f.ca); err != nil {
			return &usageError{err: err}
		}
	}
	h := kube.NewHistory(rules)
	line := term.NewProgress(os.Stderr, "importing")
	err = read(h, server, func(objects int) { line.Set(-1, count(int64(objects))+" objects") })
	line.End()
	if err != nil {
		return err
	}
	jobs, notes := h.Jobs(f.running)
	if len(jobs) == 0 {
		return noJobs(title, notes)
	}
	if err := os.MkdirAll(f.output, 0o777); err != nil {
		return err
	}
	var sum importSum
	path := filepath.Join(f.output, "jobs.parquet")
	written := []string{path}
	err = writeFile(ctx, path, func(w io.Writer) error {
		jw := jobfile.NewWriter(w, jobfile.NewMeta(build.Version(), title, kube.Assumptions()))
		jw.SetNotes(notes)
		for _, j := range jobs {
			if err := sum.write(jw, j); err != nil {
				return err
			}
		}
		return jw.Close()
	})
	if err != nil {
		return err
	}
	c, away := h.Cluster()
	notes.Add(away, "Kubernetes: nodes that are not ready, are cordoned, are the control plane's or have no room left by services: they are not in cluster.yaml")
	s := scenario.Default()
	s.Workload, s.Cluster, s.Schedulers = []string{"jobs.parquet"}, "cluster.yaml", []string{"fifo"}
	s.Clock = scenario.Kubernetes
	if h.Started > 0 {
		s.Kubernetes.StartUp = h.StartUp
	}
	for _, file := range []struct {
		name string
		text func(io.Writer) error
	}{
		{s.Cluster, func(w io.Writer) error {
			return clusterfile.Write(w, "The nodes that were ready, by zone and size, without what services held. Memory in MiB, cores in thousandths.", c)
		}},
		{scenario.FileName, func(w io.Writer) error {
			_, err := io.WriteString(w, "# Made by yardmaster import; kubernetes: has what was learned of delays. It is kept as it is when the folder is imported into again.\n"+string(s.YAML()))
			return err
		}},
	} {
		path := filepath.Join(f.output, file.name)
		switch _, err := os.Stat(path); {
		case c == nil:
			continue
		case err == nil:
			notes.Say("%s is kept as it is: remove it to have it written anew", file.name)
			continue
		}
		if err := writeFile(ctx, path, file.text); err != nil {
			return err
		}
		written = append(written, path)
	}
	out := cmd.OutOrStdout()
	sum.show(out, notes, kube.Assumptions(), path)
	showList(out, "Written", written, term.InkFor(os.Stdout))
	if c == nil {
		fmt.Fprintf(out, "\nThere are no nodes: describe them in a file for --cluster, with cores in thousandths and resources: {pods: 110} (docs/clusters.md).\n")
		return nil
	}
	fmt.Fprintf(out, "\nNext: yardmaster simulate %s\n", f.output)
	return nil
}

// writeFile writes a file whole or not at all.
func writeFile(ctx context.Context, path string, text func(io.Writer) error) error {
	out, err := prepare(ctx, path)
	if err != nil {
		return err
	}
	defer out.discard()
	return out.write(text)
}
