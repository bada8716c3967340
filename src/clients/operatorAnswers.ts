/**
 * What a control plane answers to its operator, as the client hands it on: contract 000, and what
 * `src/contract/controlPlane` adds to it. For those who show it.
 */
export { ApiKey, CreatedApiKey } from '../contract/controlPlane/apiKey.ts';
export { AuditEntry } from '../contract/controlPlane/audit.ts';
export { IntegrationInstall } from '../contract/controlPlane/integration.ts';
export { Listener } from '../contract/controlPlane/listener.ts';
