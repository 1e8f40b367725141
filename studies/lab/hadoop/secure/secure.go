// Package secure runs a ResourceManager and a NodeManager under Kerberos with a private KDC, for tests: both their RPC
// and their web endpoints require tickets. User principals: alice, bob, admin (who administers YARN), and stale, whose
// keytab is outdated.
package secure

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/yarn/krb"
)

//go:embed secure.conf
var settings string

// Lab is the secured cluster.
type Lab struct {
	*hadoop.Cluster
	KDC *KDC
	RM  string // its web address
}

// The services' principals.
const (
	daemonPrincipal = "yarn/localhost"
	webPrincipal    = "HTTP/localhost"
)

// Up brings it up in the folder and waits until the node is active. On failure all is taken down; the logs stay.
func Up(ctx context.Context, dir string, log io.Writer) (*Lab, error) {
	dir, err := proc.Folder(dir)
	if err != nil {
		return nil, err
	}
	l := &Lab{KDC: &KDC{dir: filepath.Join(dir, "kdc")}}
	l.Cluster, err = hadoop.Up(ctx, hadoop.Options{
		Dir: dir, Nodes: 1, NodeMB: 4096, NodeVcores: 16, SchedulerXML: hadoop.TwoQueues, RMHeapMB: 384, Log: log, Ports: []string{"kdc"},
		JavaOptions: []string{"-Djava.security.krb5.conf=" + l.KDC.Config()}, Prepare: l.prepare, Over: settings, With: map[string]string{
			"Realm": Realm, "Web": webPrincipal, "WebKeys": l.KDC.Keytab(webPrincipal), "Daemon": daemonPrincipal, "DaemonKeys": l.KDC.Keytab(daemonPrincipal), "Secret": secret(dir),
		},
	})
	if err != nil {
		return nil, err
	}
	l.RM = l.RMs()[0]
	return l, nil
}

// prepare starts the KDC and makes principals, keytabs and the cookies' secret.
func (l *Lab) prepare(ctx context.Context, c *hadoop.Cluster) error {
	l.Cluster = c
	if err := l.KDC.create(ctx, c); err != nil {
		return err
	}
	var commands []string
	for _, p := range []string{daemonPrincipal, webPrincipal} {
		commands = append(commands, l.KDC.add(p, "")...)
	}
	for _, p := range []string{"alice", "bob", "admin", "stale"} {
		commands = append(commands, l.KDC.add(p, "+requires_preauth")...)
	}
	if err := l.KDC.Admin(ctx, append(commands, "cpw -randkey stale")...); err != nil {
		return err
	}
	c.Say("principals and keytabs made")
	auth, err := l.Auth("admin")
	if err != nil {
		return err
	}
	c.Auth = auth
	return l.NewCookieSecret()
}

// Auth authenticates as the principal with its keytab.
func (l *Lab) Auth(principal string) (*krb.Auth, error) {
	return krb.New(krb.Options{Config: l.KDC.Config(), Keytab: l.KDC.Keytab(principal), Principal: principal})
}

// NewCookieSecret replaces the secret that signs the web server's cookies; after a restart the old ones are invalid.
func (l *Lab) NewCookieSecret() error {
	if err := os.WriteFile(secret(l.Dir), []byte(rand.Text()), 0o600); err != nil {
		return fmt.Errorf("writing the cookies' secret: %w", err)
	}
	return nil
}

func secret(dir string) string { return filepath.Join(dir, "http-secret") }

// Realm is the realm of the lab's KDC.
const Realm = "YARD.LAB"

var (
	//go:embed krb5.conf
	krb5Conf string // of a realm and a port
	//go:embed kdc.conf
	kdcConf string // of a realm, a port and a folder
)

// KDC is a private MIT Kerberos server on loopback with its own files: no system service, no root.
type KDC struct {
	lab *hadoop.Cluster
	dir string
}

// Missing reports which programs are missing, and how to install them.
func Missing() error {
	var no []string
	for _, p := range []string{"krb5kdc", "kdb5_util", "kadmin.local", "kinit"} {
		if program(p) == "" {
			no = append(no, p)
		}
	}
	if len(no) == 0 {
		return nil
	}
	return fmt.Errorf("a private KDC needs %s; install them (Debian: apt install krb5-kdc krb5-admin-server krb5-user)", strings.Join(no, ", "))
}

// program finds a command, also outside an ordinary user's PATH; "": not found.
func program(name string) string {
	for _, d := range []string{"", "/usr/sbin", "/usr/local/sbin", "/sbin"} {
		if p, err := exec.LookPath(filepath.Join(d, name)); err == nil {
			return p
		}
	}
	return ""
}

// create writes the files, makes the database and starts the server.
func (k *KDC) create(ctx context.Context, c *hadoop.Cluster) error {
	if err := Missing(); err != nil {
		return err
	}
	k.lab = c
	err := errors.Join(os.RemoveAll(k.dir), os.MkdirAll(k.dir, 0o700)) // of an earlier run
	port := c.Ports["kdc"]
	for name, text := range map[string]string{"krb5.conf": fmt.Sprintf(krb5Conf, Realm, port), "kdc.conf": fmt.Sprintf(kdcConf, Realm, port, k.dir), "acl": ""} {
		err = errors.Join(err, os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o600))
	}
	if err != nil {
		return fmt.Errorf("making the KDC: %w", err)
	}
	if err := k.run(ctx, "", "kdb5_util", "-r", Realm, "create", "-s", "-P", "master"); err != nil {
		return err
	}
	return k.Start(ctx)
}

// Start starts the server, or starts it again on the same database.
func (k *KDC) Start(ctx context.Context) error {
	if _, err := proc.Start(k.lab.Dir, proc.Command{Name: "kdc", Path: program("krb5kdc"), Args: []string{"-r", Realm, "-n"}, Env: k.env()}); err != nil {
		return err
	}
	return k.lab.Listens(ctx, "kdc", k.lab.Ports["kdc"], "", "")
}

func (k *KDC) env() []string {
	return []string{"KRB5_CONFIG=" + k.Config(), "KRB5_KDC_PROFILE=" + filepath.Join(k.dir, "kdc.conf")}
}

func (k *KDC) run(ctx context.Context, input, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, program(name), args...)
	cmd.Env = append(os.Environ(), k.env()...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	for line := range strings.Lines(string(out)) { // kadmin exits 0 even if commands fail
		if name == "kadmin.local" && strings.Contains(line, " while ") && !strings.HasPrefix(line, "WARNING") {
			return errors.New("kadmin.local: " + strings.TrimSpace(line))
		}
	}
	return nil
}

// Admin runs kadmin commands, one per line.
func (k *KDC) Admin(ctx context.Context, commands ...string) error {
	return k.run(ctx, strings.Join(commands, "\n")+"\n", "kadmin.local", "-r", Realm)
}

// Config is the krb5.conf of the realm.
func (k *KDC) Config() string { return filepath.Join(k.dir, "krb5.conf") }

// Keytab is where the keys of a principal are kept, named after its first part.
func (k *KDC) Keytab(principal string) string {
	name, _, _ := strings.Cut(principal, "/")
	return filepath.Join(k.dir, name+".keytab")
}

// add are the commands that make a principal and its keytab.
func (k *KDC) add(principal, options string) []string {
	return []string{"addprinc -randkey " + options + " " + principal, "ktadd -k " + k.Keytab(principal) + " -norandkey " + principal}
}
