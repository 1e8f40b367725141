package krb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// explain turns the library's long errors into one line. The service is empty at login.
func (a *Auth) explain(err error, service string) error {
	text := err.Error()
	has := func(parts ...string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
	}
	who := cmp.Or(a.o.Principal, "the cache's principal")
	_, realm := a.principal()
	e := &rest.AuthError{Err: err}
	switch {
	case has("KDC_ERR_PREAUTH_FAILED"), has("Decrypting_Error", "integrity verification failed"):
		e.Reason = fmt.Sprintf("the key of %s in %s is not the one that the KDC knows: was the password changed since the keytab was made?", who, a.o.Keytab)
	case has("matching key not found in keytab"):
		e.Reason = fmt.Sprintf("%s has no key of %s: klist -k %s lists whose it has", a.o.Keytab, who, a.o.Keytab)
	case has("KDC_ERR_C_PRINCIPAL_UNKNOWN"):
		e.Reason = fmt.Sprintf("the KDC of %s does not know %s: is the principal (--principal) written right?", realm, who)
	case has("KDC_ERR_S_PRINCIPAL_UNKNOWN"):
		e.Reason = fmt.Sprintf("the KDC does not know the service %s: write the address with the host's full name, as its principal has it", service)
	case has("KDC_ERR_CLIENT_REVOKED"):
		e.Reason = fmt.Sprintf("the KDC refuses %s: it is disabled, locked or expired", who)
	case has("KRB_AP_ERR_SKEW"), has("clock skew with KDC too large"):
		e.Reason = "the clocks of this machine and the KDC differ by more than five minutes"
	case has("no KDCs defined in configuration for realm"), has("does not have any defined KDCs"):
		e.Reason = fmt.Sprintf("%s names no KDC for the realm %s", a.o.Config, realm)
	case has("no valid existing session"), has("KRB_AP_ERR_TKT_EXPIRED"):
		e.Reason = fmt.Sprintf("the ticket in %s has ended: run kinit again, or give a keytab with --keytab", a.o.CCache)
	case has("Networking_Error"):
		e.Reason, e.Later = fmt.Sprintf("the KDC of %s cannot be reached: %s", realm, tail(text)), true
	default:
		e.Reason = "Kerberos: " + tail(text)
	}
	return e
}

// tail is the last part of a long error, which has the cause.
func tail(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 160 {
		return "..." + string(r[len(r)-157:])
	}
	return text
}
