// Package secure runs a ResourceManager and a NodeManager under Kerberos with a private KDC, for tests: both their remote
// calls and their web pages ask for tickets. Principals of people: alice, bob, admin (who administers YARN), and stale, whose
// keytab no longer fits.
package secure

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/proc"
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

// Up brings it up in the folder and waits until the node is active. What fails is taken down; the logs stay.
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

// StartRM starts the ResourceManager, also after a Stop or Kill of "resourcemanager".
func (l *Lab) StartRM(ctx context.Context) error { return l.Restart(ctx, "resourcemanager") }

// Auth proves to be the principal by its keytab.
func (l *Lab) Auth(principal string) (*krb.Auth, error) {
	return krb.New(krb.Options{Config: l.KDC.Config(), Keytab: l.KDC.Keytab(principal), Principal: principal})
}

// NewCookieSecret replaces the secret that the web server signs its cookies with; a restarted one then knows none of the old.
func (l *Lab) NewCookieSecret() error {
	if err := os.WriteFile(secret(l.Dir), []byte(rand.Text()), 0o600); err != nil {
		return fmt.Errorf("writing the cookies' secret: %w", err)
	}
	return nil
}

func secret(dir string) string { return filepath.Join(dir, "http-secret") }
