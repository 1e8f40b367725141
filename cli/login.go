package cli

import (
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/yarn/krb"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// login has the addresses of the ResourceManagers and the credentials: the flags of every verb that connects to a cluster.
type login struct {
	rm     []string
	user   string
	krb    krb.Options
	spnego bool
	tls    rest.TLS

	timeout time.Duration // 0: as without the flag
}

// addRM adds the flag for the ResourceManagers.
func (l *login) addRM(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&l.rm, "rm", nil, "web `URL` of the ResourceManager; several separated by commas")
}

// addTimeout adds the flag for the time that a command, or a step of it, may take.
func (l *login) addTimeout(cmd *cobra.Command, otherwise time.Duration, what string) {
	cmd.Flags().DurationVar(&l.timeout, "timeout", otherwise, what)
}

// addWho adds the flags for authentication.
func (l *login) addWho(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&l.user, "user", "", "user `NAME`, without Kerberos; default: this account")
	fs.BoolVar(&l.spnego, "kerberos", false, "log in with Kerberos: with existing tickets, or with --keytab")
	fs.StringVar(&l.krb.Principal, "principal", "", "`NAME` to log in as")
	fs.StringVar(&l.krb.Keytab, "keytab", "", "keytab `FILE` of --principal")
	fs.StringVar(&l.krb.Config, "krb5-conf", "", "Kerberos configuration `FILE`; default: $KRB5_CONFIG or /etc/krb5.conf")
	fs.StringVar(&l.tls.CAFile, "ca", "", "PEM `FILE` of additional certificate authorities to trust")
	setGroup(fs, inLogin, "user", "kerberos", "principal", "keytab", "krb5-conf", "ca")
}

// args are the flags that make another process of this command use the same servers and credentials.
func (l *login) args() []string {
	var a []string
	add := func(name, value string) {
		if value != "" {
			a = append(a, "--"+name+"="+value)
		}
	}
	for _, u := range l.rm {
		add("rm", u)
	}
	add("user", l.user)
	if l.spnego {
		add("kerberos", "true")
	}
	add("principal", l.krb.Principal)
	add("keytab", absolute(l.krb.Keytab))
	add("krb5-conf", absolute(l.krb.Config))
	add("ca", absolute(l.tls.CAFile))
	return a
}

// client completes the options and makes a client.
func (l *login) client(o rest.Options) (*rest.Client, error) {
	auth, err := l.auth()
	if err != nil {
		return nil, err
	}
	return l.clientAs(auth, o)
}

func (l *login) clientAs(auth rest.Auth, o rest.Options) (*rest.Client, error) {
	o.RM, o.TLS, o.Auth, o.UserAgent = l.rm, l.tls, auth, "yardmaster/"+build.Version()
	return rest.New(o)
}

// auth is the authentication; nil: none.
func (l *login) auth() (rest.Auth, error) {
	if l.spnego || l.krb.Keytab != "" || l.krb.Principal != "" {
		a, err := krb.New(l.krb)
		if err != nil {
			return nil, err
		}
		return a, nil
	}
	name := l.user
	if name == "" {
		name = account()
	}
	if name == "" {
		return nil, nil
	}
	return rest.User(name), nil
}

// account is the name of the user who runs this command, as Hadoop's own clients determine it.
func account() string {
	for _, v := range []string{"HADOOP_USER_NAME", "USER", "LOGNAME"} {
		if s := os.Getenv(v); s != "" {
			return s
		}
	}
	if u, err := user.Current(); err == nil { // cron jobs have no such variables
		return u.Username
	}
	return ""
}
