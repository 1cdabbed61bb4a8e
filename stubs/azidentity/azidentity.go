// Package azidentity stands in for the credentials of Azure and refuses each; see stubs/README.md.
package azidentity

import (
	"crypto"
	"crypto/x509"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

var errNotSupported = errors.New("Azure AD is not supported: this program is built without the SDK of Azure")

// ClientID would name a managed identity.
type ClientID string

// ManagedIdentityCredentialOptions would describe a managed identity.
type ManagedIdentityCredentialOptions struct {
	ClientOptions azcore.ClientOptions
	ID            ClientID
}

// NewManagedIdentityCredential always fails.
func NewManagedIdentityCredential(*ManagedIdentityCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errNotSupported
}

// WorkloadIdentityCredentialOptions would describe the identity of a workload.
type WorkloadIdentityCredentialOptions struct {
	ClientOptions                     azcore.ClientOptions
	ClientID, TenantID, TokenFilePath string
}

// NewWorkloadIdentityCredential always fails.
func NewWorkloadIdentityCredential(*WorkloadIdentityCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errNotSupported
}

// ClientSecretCredentialOptions would describe an application with a secret.
type ClientSecretCredentialOptions struct {
	ClientOptions azcore.ClientOptions
}

// NewClientSecretCredential always fails.
func NewClientSecretCredential(_, _, _ string, _ *ClientSecretCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errNotSupported
}

// DefaultAzureCredentialOptions would describe what the SDK finds by itself.
type DefaultAzureCredentialOptions struct {
	ClientOptions azcore.ClientOptions
	TenantID      string
}

// NewDefaultAzureCredential always fails.
func NewDefaultAzureCredential(*DefaultAzureCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errNotSupported
}

// ClientCertificateCredentialOptions would describe an application with a certificate.
type ClientCertificateCredentialOptions struct {
	ClientOptions        azcore.ClientOptions
	SendCertificateChain bool
}

// NewClientCertificateCredential always fails.
func NewClientCertificateCredential(_, _ string, _ []*x509.Certificate, _ crypto.PrivateKey, _ *ClientCertificateCredentialOptions) (azcore.TokenCredential, error) {
	return nil, errNotSupported
}

// ParseCertificates always fails.
func ParseCertificates(_, _ []byte) ([]*x509.Certificate, crypto.PrivateKey, error) {
	return nil, nil, errNotSupported
}
