/**
 * What a control plane answers to its operator, as the client hands it on: contract 000, and what
 * `@slipway/contract/controlPlane` adds to it. For those who show it.
 */
export { ApiKey, CreatedApiKey } from '@slipway/contract/controlPlane/apiKey';
export { AuditEntry } from '@slipway/contract/controlPlane/audit';
export { IntegrationInstall } from '@slipway/contract/controlPlane/integration';
export { Listener } from '@slipway/contract/controlPlane/listener';
