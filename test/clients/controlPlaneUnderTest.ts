import { onTestFinished } from 'vitest';

import { type ControlPlaneClient, createControlPlaneClient } from '../../src/clients/controlPlane.ts';
import type { ServiceOptions } from '../../src/clients/service.ts';

export const ID = '11111111-1111-4111-8111-111111111111';
export const REVISION = '22222222-2222-4222-8222-222222222222';
export const KEY = 'key-8f31c7';

export function client(baseUrl: string, options: Partial<ServiceOptions> = {}): ControlPlaneClient {
  const made = createControlPlaneClient({ baseUrl, apiKey: KEY, timeoutMs: 5_000, ...options });
  onTestFinished(() => made.close());
  return made;
}
