// Package secure runs a ResourceManager and a NodeManager under Kerberos with a private KDC, for tests: both their remote
// calls and their web pages ask for tickets. Principals of people: alice, bob, admin (who administers YARN), and stale, whose
// keytab no longer fits.
package secure

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/lab/hadoop/bare"
	"github.com/yardmaster/yardmaster/yarn/krb"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Lab is the secured cluster.
type Lab struct {
	*bare.Yard
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
	y, err := bare.New(ctx, dir, log)
	if err != nil {
		return nil, err
	}
	if err := y.Down(); err != nil { // what a crash has left
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
	ports, err := bare.Ports(5)
	if err != nil {
		return err
	}
	l.RM = "http://" + bare.Local(ports[0])
	if err := l.WriteCommon(l.core(), l.yarn(ports)); err != nil {
		return err
	}
	l.JavaOptions = []string{"-Djava.security.krb5.conf=" + l.KDC.Config()}
	if err := l.StartRM(ctx); err != nil {
		return err
	}
	if err := l.Start("nodemanager", 256, nil, bare.NodeManager); err != nil {
		return err
	}
	return l.awaitNode(ctx)
}

// StartRM starts the ResourceManager, also after a Stop or Kill of "resourcemanager".
func (l *Lab) StartRM(ctx context.Context) error {
	if err := l.Start("resourcemanager", 384, nil, bare.ResourceManager); err != nil {
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

// RotateKey gives the web server a new key, as an operator does: in the KDC, in its keytab, then a restart.
func (l *Lab) RotateKey(ctx context.Context) error {
	if err := os.Remove(l.KDC.Keytab(webPrincipal)); err != nil {
		return fmt.Errorf("rotating the key: %w", err)
	}
	if err := l.KDC.Admin(ctx, "cpw -randkey "+webPrincipal, "ktadd -k "+l.KDC.Keytab(webPrincipal)+" -norandkey "+webPrincipal); err != nil {
		return err
	}
	if err := l.Kill("resourcemanager"); err != nil {
		return err
	}
	return l.StartRM(ctx)
}

func (l *Lab) core() map[string]string {
	return map[string]string{
		"hadoop.security.authentication":                      "kerberos",
		"hadoop.security.authorization":                       "false",
		"hadoop.http.filter.initializers":                     "org.apache.hadoop.security.AuthenticationFilterInitializer",
		"hadoop.http.authentication.type":                     "kerberos",
		"hadoop.http.authentication.simple.anonymous.allowed": "false",
		"hadoop.http.authentication.kerberos.principal":       webPrincipal + "@" + Realm,
		"hadoop.http.authentication.kerberos.keytab":          l.KDC.Keytab(webPrincipal),
		"hadoop.http.authentication.signature.secret.file":    l.secret(),
	}
}

func (l *Lab) yarn(ports []int) map[string]string {
	m := map[string]string{
		"yarn.resourcemanager.hostname":                 "localhost",
		"yarn.resourcemanager.webapp.address":           bare.Local(ports[0]),
		"yarn.resourcemanager.address":                  bare.Local(ports[1]),
		"yarn.resourcemanager.scheduler.address":        bare.Local(ports[2]),
		"yarn.resourcemanager.resource-tracker.address": bare.Local(ports[3]),
		"yarn.resourcemanager.admin.address":            bare.Local(ports[4]),
		"yarn.scheduler.configuration.store.class":      "memory",
		"yarn.admin.acl":                                "admin,yarn",
	}
	for _, d := range []string{"yarn.resourcemanager.", "yarn.nodemanager."} {
		m[d+"principal"] = daemonPrincipal + "@" + Realm
		m[d+"keytab"] = l.KDC.Keytab(daemonPrincipal)
		m[d+"webapp.spnego-principal"] = webPrincipal + "@" + Realm
		m[d+"webapp.spnego-keytab-file"] = l.KDC.Keytab(webPrincipal)
	}
	return m
}
