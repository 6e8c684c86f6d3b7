import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { stemsOf } from '../words.js';

const placeList = z.array(
  z.strictObject({
    name: z.string(),
    country: z.string(),
    latitude: z.number().min(-90).max(90),
    longitude: z.number().min(-180).max(180),
    about: z.string(),
  }),
);

export type Place = Readonly<z.infer<typeof placeList>[number]>;

export function readPlaces(dataDir: string, file: string): readonly Place[] {
  return placeList.parse(JSON.parse(readFileSync(join(dataDir, file), 'utf8')));
}

/** The place whose name shares the most words with `name`; undefined when no place's name shares one. */
export function findPlace(places: readonly Place[], name: string): Place | undefined {
  const words = stemsOf(name);
  const scored = places.map((place) => {
    const own = stemsOf(place.name);
    const shared = [...own].filter((word) => words.has(word)).length;
    return { place, score: shared === 0 ? 0 : shared + shared / own.size };
  });
  return scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)[0]?.place;
}

/** The other places within so many kilometres of one, nearest first, with their distance. */
export function placesNearby(places: readonly Place[], centre: Place, kilometres: number) {
  return places
    .filter((place) => place !== centre)
    .map((place) => ({ place, kilometres: distanceBetween(centre, place) }))
    .filter((found) => found.kilometres <= kilometres)
    .sort((a, b) => a.kilometres - b.kilometres);
}

const EARTH_RADIUS_KILOMETRES = 6_371;

/** Kilometres along the great circle (haversine formula). */
export function distanceBetween(from: Place, to: Place): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180;
  const latitudes = radians(to.latitude - from.latitude);
  const longitudes = radians(to.longitude - from.longitude);
  const a =
    Math.sin(latitudes / 2) ** 2 + Math.cos(radians(from.latitude)) * Math.cos(radians(to.latitude)) * Math.sin(longitudes / 2) ** 2;
  return 2 * EARTH_RADIUS_KILOMETRES * Math.asin(Math.sqrt(a));
}
