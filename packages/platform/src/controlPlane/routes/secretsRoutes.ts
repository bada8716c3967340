import { Hono } from 'hono';

import type { SecretsRotation } from '../secretsRotation.ts';

/** A new master key for the stored secrets. */
export function secretsRoutes(rotation: SecretsRotation): Hono {
  const app = new Hono();
  app.post('/v1/secrets/rotation', async (c) => c.json({ resealed: await rotation.rotate() }));
  return app;
}
