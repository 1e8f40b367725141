package krb

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Options are the credentials. A keytab needs Principal; without one, the credential cache of kinit is used.
type Options struct {
	Config    string // krb5.conf; default $KRB5_CONFIG, else /etc/krb5.conf
	Principal string // alice or alice@EXAMPLE.COM; the realm defaults to krb5.conf's default_realm
	Keytab    string
	CCache    string // a file; default $KRB5CCNAME, else /tmp/krb5cc_<uid>
	// Service names the principal of a web server; default HTTP/<host of the address>. No name service is queried.
	Service func(host string) string
}

// Auth is a rest.Auth that authenticates with Kerberos tickets. It is safe for concurrent use.
type Auth struct {
	o       Options
	conf    *config.Config
	connect func() (proof, error) // makes one from the current files; contacts nobody yet

	mu      sync.Mutex
	proof   proof
	cookies map[string]*http.Cookie // a server's own, by scheme, host and port: no other service of the host sees it
}

// proof is a login: it makes the credentials for a service.
type proof interface {
	header(service string) (string, error) // the value of Authorization
	affirm() error                         // gets a ticket from the KDC unless there is one
	end()                                  // stops its renewal
}

var _ rest.Auth = (*Auth)(nil)

// New reads krb5.conf and checks that the keytab or the cache can be read; the KDC is contacted at the first request, or by Login.
func New(o Options) (*Auth, error) {
	o.Config = cmp.Or(o.Config, os.Getenv("KRB5_CONFIG"), "/etc/krb5.conf")
	if o.Service == nil {
		o.Service = func(host string) string { return "HTTP/" + strings.ToLower(host) }
	}
	c, err := loadConfig(o.Config)
	if err != nil {
		return nil, err
	}
	if o.Keytab == "" {
		if o.CCache, err = cachePath(o.CCache); err != nil {
			return nil, err
		}
	} else if o.Principal == "" {
		return nil, fmt.Errorf("a keytab holds keys of several principals: say which with --principal (klist -k %s lists them)", o.Keytab)
	}
	a := &Auth{o: o, conf: c}
	a.connect = a.read
	if a.proof, err = a.connect(); err != nil {
		return nil, err
	}
	return a, nil
}

// Login gets a ticket from the KDC now, to fail early.
func (a *Auth) Login() error {
	if err := a.current().affirm(); err != nil {
		return a.explain(err, "")
	}
	return nil
}

// Close ends the renewal of tickets.
func (a *Auth) Close() { a.current().end() }

func (a *Auth) current() proof {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.proof
}

// renew replaces a failed login, unless that has already been done.
func (a *Auth) renew(failed proof) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.proof != failed {
		return nil
	}
	p, err := a.connect()
	if err != nil {
		return err
	}
	failed.end()
	a.proof = p
	return nil
}

// tickets is gokrb5's client, whose cache of service tickets cannot be cleared: it is replaced as a whole.
type tickets struct{ *client.Client }

func (t *tickets) affirm() error { return t.AffirmLogin() }
func (t *tickets) end()          { t.Destroy() }

func (t *tickets) header(service string) (string, error) {
	r := &http.Request{Header: http.Header{}} // with the service given, only its header is touched
	if err := spnego.SetSPNEGOHeader(t.Client, r, service); err != nil {
		return "", err
	}
	return r.Header.Get(spnego.HTTPHeaderAuthRequest), nil
}

// read makes the login that the options describe.
func (a *Auth) read() (proof, error) {
	settings := client.DisablePAFXFAST(true) // Active Directory and MIT's KDC both do without
	if a.o.Keytab == "" {
		cache, err := loadCache(a.o.CCache)
		if err != nil {
			return nil, err
		}
		cl, err := client.NewFromCCache(cache, a.conf, settings)
		if err != nil {
			return nil, fmt.Errorf("credential cache %s: %v: run kinit", a.o.CCache, err)
		}
		return &tickets{cl}, nil
	}
	kt, err := loadKeytab(a.o.Keytab)
	if err != nil {
		return nil, err
	}
	name, realm := a.principal()
	if realm == "" {
		return nil, fmt.Errorf("%s has no default_realm: write the principal as %s@REALM", a.o.Config, name)
	}
	return &tickets{client.NewWithKeytab(name, realm, kt, a.conf, settings)}, nil
}

func (a *Auth) principal() (name, realm string) {
	name, realm, ok := strings.Cut(a.o.Principal, "@")
	if !ok {
		realm = a.conf.LibDefaults.DefaultRealm
	}
	return name, realm
}
