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
	"github.com/yardmaster/yardmaster/yarn/krb"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

//go:embed secure.conf
var settings string

// Lab is the secured cluster.
type Lab struct {
	*hadoop.Yard
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
	y, err := hadoop.NewYard(ctx, dir, log)
	if err != nil {
		return nil, err
	}
	l := &Lab{Yard: y}
	if err := l.up(ctx); err != nil {
		_ = y.Down()
		return nil, err
	}
	return l, nil
}

func (l *Lab) up(ctx context.Context) error {
	var err error
	if l.KDC, err = newKDC(ctx, l.Yard); err != nil {
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
	l.Say("principals and keytabs made")
	if err := l.NewCookieSecret(); err != nil {
		return err
	}
	ports, err := hadoop.Ports(5)
	if err != nil {
		return err
	}
	l.RM = "http://" + hadoop.Local(ports[0])
	if err := l.Configure(settings, map[string]any{
		"Ports": ports, "Realm": Realm, "Web": webPrincipal, "WebKeys": l.KDC.Keytab(webPrincipal), "Daemon": daemonPrincipal, "DaemonKeys": l.KDC.Keytab(daemonPrincipal), "Secret": l.secret(),
	}); err != nil {
		return err
	}
	l.JavaOptions = []string{"-Djava.security.krb5.conf=" + l.KDC.Config()}
	if err := l.StartRM(ctx); err != nil {
		return err
	}
	if err := l.StartNode(); err != nil {
		return err
	}
	return l.awaitNode(ctx)
}

// StartRM starts the ResourceManager, also after a Stop or Kill of "resourcemanager".
func (l *Lab) StartRM(ctx context.Context) error {
	if err := l.Yard.StartRM("resourcemanager"); err != nil {
		return err
	}
	return l.Answers(ctx, "resourcemanager", l.RM+"/ws/v1/cluster/info")
}

func (l *Lab) awaitNode(ctx context.Context) error {
	auth, err := l.Auth("admin")
	if err != nil {
		return err
	}
	defer auth.Close()
	c, err := rest.New(rest.Options{RM: []string{l.RM}, Auth: auth, RMRate: -1})
	if err != nil {
		return err
	}
	defer c.CloseIdle()
	return l.Until(ctx, "nodemanager", "the node is active", func() error {
		m, err := c.Metrics(ctx)
		if err == nil && m.ActiveNodes < 1 {
			err = fmt.Errorf("no node is active")
		}
		return err
	})
}

// Auth proves to be the principal by its keytab.
func (l *Lab) Auth(principal string) (*krb.Auth, error) {
	return krb.New(krb.Options{Config: l.KDC.Config(), Keytab: l.KDC.Keytab(principal), Principal: principal})
}

// NewCookieSecret replaces the secret that the web server signs its cookies with; a restarted one then knows none of the old.
func (l *Lab) NewCookieSecret() error {
	if err := os.WriteFile(l.secret(), []byte(rand.Text()), 0o600); err != nil {
		return fmt.Errorf("writing the cookies' secret: %w", err)
	}
	return nil
}

func (l *Lab) secret() string { return filepath.Join(l.Dir, "http-secret") }
